import { strict as assert } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientAccess, curl } from '../../apps/workspace/src/clients/snippets.ts'
import type { Scope } from '../../shared/oauth/scopes.ts'
import { sharedFolder } from '../support/folder.ts'
import { run } from '../support/program.ts'
import { createClient, testStack } from '../support/workspace.ts'

const DEADLINE_MS = 60_000

const KEYS = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
type Algorithm = keyof typeof KEYS

describe('workspace: the code to paste', () => {
  const folder = sharedFolder()

  async function access(scopes: Scope[]): Promise<ClientAccess> {
    const stack = await testStack()
    const { clientId, clientSecret } = await createClient({ name: 'Pasted', scopes })
    const credential = { method: 'client_secret', secret: clientSecret } as const
    return { baseUrl: stack.baseUrl, vendorId: 'ven_acme', clientId, credential, scopes }
  }

  /** A client with a key, whose private half is in the folder. */
  async function accessByKey(algorithm: Algorithm): Promise<ClientAccess> {
    const { baseUrl } = await testStack()
    const { publicKey, privateKey } = KEYS[algorithm]
    const scopes: Scope[] = ['analytics:read']
    const jwk = publicKey.export({ format: 'jwk' })
    const { clientId } = await createClient({ name: 'Signed', scopes, publicKey: jwk })
    await writeFile(join(folder, `${clientId}.pem`), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const credential = { method: 'private_key_jwt', algorithm } as const
    return { baseUrl, vendorId: 'ven_acme', clientId, credential, scopes }
  }

  /** Runs commands as a person's shell would after a paste. */
  async function shell(commands: string): Promise<string> {
    const { stdout } = await run('bash', ['-c', commands], { cwd: folder, timeout: DEADLINE_MS })
    return stdout
  }

  it('gets a token and reads analytics with the curl commands, pasted whole', async () => {
    const daily = JSON.parse(await shell(curl(await access(['analytics:read', 'boost:write']))))
    assert.equal(daily.vendorId, 'ven_acme')
    assert.equal(daily.days.length, 30)
  })

  it('shows why no token was issued to the curl commands', async () => {
    const credential = { method: 'client_secret', secret: 'wrong' } as const
    const wrong = { ...(await access(['analytics:read'])), credential }
    await assert.rejects(shell(curl(wrong)), ({ stdout, stderr }) => {
      assert.match(stderr, /"error":"invalid_client".*TOKEN: was not issued/s)
      assert.equal(stdout, '')
      return true
    })
  })

  it('reports an event with the curl commands of a client that may write, pasted whole', async () => {
    const answer = JSON.parse(await shell(curl(await access(['analytics:write']))))
    assert.deepEqual(answer, { accepted: 1, duplicates: 0 })
  })

  it('reports an event and then reads analytics with curl, if the client may do both', async () => {
    const answers = await shell(curl(await access(['analytics:read', 'analytics:write'])))
    const [reported = '', daily = ''] = answers.split('\n')
    assert.equal(JSON.parse(reported).accepted, 1)
    assert.equal(JSON.parse(daily).vendorId, 'ven_acme')
  })

  it('gets a token with curl for a client that reads no analytics', async () => {
    const answer = JSON.parse(await shell(curl(await access(['boost:read', 'catalog:write']))))
    assert.equal(answer.scope, 'boost:read catalog:write')
  })

  for (const algorithm of Object.keys(KEYS) as Algorithm[]) {
    it(`signs by ${algorithm} with openssl and curl, pasted whole`, async () => {
      const pasted = curl(await accessByKey(algorithm))
      // Some signatures have numbers that begin with a zero byte, or with a bit that DER pads.
      for (let pastes = 0; pastes < 8; pastes++)
        assert.equal(JSON.parse(await shell(pasted)).vendorId, 'ven_acme')
    })
  }
})
