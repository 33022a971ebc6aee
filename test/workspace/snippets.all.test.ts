import { strict as assert } from 'node:assert'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import {
  type Access,
  curl,
  envFile,
  go,
  java,
  node,
  php,
  python,
} from '../../apps/workspace/src/clients/snippets.ts'
import { RECEIVERS } from '../../apps/workspace/src/webhooks/receivers.ts'
import { payloadOf } from '../../apps/workspace/src/webhooks/test-event.ts'
import type { Scope } from '../../shared/oauth/scopes.ts'
import { QUICK_START, untilAnswered } from '../support/languages.ts'
import { freePort } from '../support/ports.ts'
import { api, createClient, OWNER, sessionToken, testStack } from '../support/workspace.ts'

const run = promisify(execFile)
/** Go compiles its standard library when it is first used. */
const DEADLINE_MS = 180_000
const ENV = { ...process.env, ...QUICK_START }

const PROGRAMS = [
  { tool: process.execPath, file: 'analytics.mjs', write: node },
  { tool: 'python3', file: 'analytics.py', write: python, library: ['-c', 'import jwt, cryptography'] },
  { tool: 'go', file: 'analytics.go', write: go, onlyP256: true },
  { tool: 'java', file: 'Analytics.java', write: java },
  { tool: 'php', file: 'analytics.php', write: php, onlyP256: true },
]

/** What a program prints, by the scopes of its client. */
const PRINTED: readonly [Scope[], RegExp][] = [
  [['analytics:read', 'boost:write'], /impressions/],
  [['analytics:write'], /accepted\W+1\b/],
  [['analytics:read', 'analytics:write'], /accepted\W+1\b.*impressions/s],
  [['catalog:write'], /^Token received \(\d+ characters\)$/m],
]

const KEYS = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
type Algorithm = keyof typeof KEYS
const ALGORITHMS = Object.keys(KEYS) as Algorithm[]

describe('workspace: the code to paste', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'integration-access-snippets-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  async function access(scopes: Scope[]): Promise<Access> {
    const stack = await testStack()
    const { clientId, clientSecret } = await createClient(await sessionToken(OWNER), {
      name: 'Pasted',
      scopes,
    })
    const credential = { secret: clientSecret }
    return { baseUrl: stack.baseUrl, vendorId: 'ven_acme', clientId, credential, scopes }
  }

  /** A client with a key, whose private half is in the folder. */
  async function accessByKey(algorithm: Algorithm): Promise<Access> {
    const { baseUrl } = await testStack()
    const { publicKey, privateKey } = KEYS[algorithm]
    const scopes: Scope[] = ['analytics:read']
    const body = { name: 'Signed', scopes, publicKey: publicKey.export({ format: 'jwk' }) }
    const token = await sessionToken(OWNER)
    const { clientId } = await api('/v1/vendor/ven_acme/oauth-clients', { token, body })
    const keyFile = `${clientId}.pem`
    await writeFile(join(folder, keyFile), privateKey.export({ type: 'pkcs8', format: 'pem' }))
    return { baseUrl, vendorId: 'ven_acme', clientId, credential: { keyFile, algorithm }, scopes }
  }

  /** Runs commands as a person's shell would after a paste. */
  async function shell(commands: string): Promise<string> {
    const { stdout } = await run('bash', ['-c', commands], { cwd: folder, env: ENV, timeout: DEADLINE_MS })
    return stdout
  }

  it('gets a token and reads analytics with the curl commands, pasted whole', async () => {
    const daily = JSON.parse(await shell(curl(await access(['analytics:read', 'boost:write']))))
    assert.equal(daily.vendorId, 'ven_acme')
    assert.equal(daily.days.length, 30)
  })

  it('shows why no token was issued to the curl commands', async () => {
    const wrong = { ...(await access(['analytics:read'])), credential: { secret: 'wrong' } }
    await assert.rejects(shell(curl(wrong)), ({ stdout, stderr }) => {
      assert.match(stderr, /"error":"invalid_client".*TOKEN: was not issued/s)
      assert.equal(stdout, '')
      return true
    })
  })

  it('reports an event with the curl commands of a client that may write, pasted whole', async () => {
    assert.deepEqual(JSON.parse(await shell(curl(await access(['analytics:write'])))), {
      accepted: 1,
      duplicates: 0,
    })
  })

  it('reports an event and then reads analytics with curl, if the client may do both', async () => {
    const [reported = '', daily = ''] = (
      await shell(curl(await access(['analytics:read', 'analytics:write'])))
    ).split('\n')
    assert.equal(JSON.parse(reported).accepted, 1)
    assert.equal(JSON.parse(daily).vendorId, 'ven_acme')
  })

  it('gets a token with curl for a client that reads no analytics', async () => {
    const answer = JSON.parse(await shell(curl(await access(['boost:read', 'catalog:write']))))
    assert.equal(answer.scope, 'boost:read catalog:write')
  })

  for (const { tool, file, write } of PROGRAMS) {
    if (!hasTool(tool)) continue
    const start = tool === 'go' ? `go run ${file}` : `'${tool}' ${file}`
    for (const [scopes, output] of PRINTED) {
      it(`runs ${file} unchanged, with ${scopes.join(' and ')}`, async () => {
        const given = await access(scopes)
        await writeFile(join(folder, '.env'), envFile(given))
        await writeFile(join(folder, file), write(given))
        const printed = await shell(`set -a; . ./.env; set +a; ${start}`)
        assert.match(printed, output)
      })
    }
  }

  for (const algorithm of ALGORITHMS) {
    it(`signs by ${algorithm} with openssl and curl, pasted whole`, async () => {
      const pasted = curl(await accessByKey(algorithm))
      // Some signatures have numbers that begin with a zero byte, or with a bit that DER pads.
      for (let pastes = 0; pastes < 8; pastes++) {
        const daily = JSON.parse(await shell(pasted))
        assert.equal(daily.vendorId, 'ven_acme')
      }
    })

    for (const { tool, file, write, library, onlyP256 } of PROGRAMS) {
      if (!hasTool(tool) || (onlyP256 && algorithm !== 'ES256')) continue
      if (library && spawnSync(tool, library, { env: ENV }).status !== 0) continue
      it(`runs ${file} unchanged, with a key for ${algorithm}`, async () => {
        const given = await accessByKey(algorithm)
        await writeFile(join(folder, '.env'), envFile(given))
        await writeFile(join(folder, file), write(given))
        const start = tool === 'go' ? `go run ${file}` : `'${tool}' ${file}`
        assert.match(await shell(`set -a; . ./.env; set +a; ${start}`), /impressions/)
      })
    }
  }

  const START = {
    node: 'node receiver.mjs',
    python: 'python3 receiver.py',
    go: 'go run receiver.go',
    php: 'php -S',
  }
  for (const { id, text } of RECEIVERS) {
    if (!hasTool(START[id].split(' ')[0] as string)) continue
    it(`receives a test event with the ${id} receiver`, async () => {
      const port = await freePort()
      const file = id === 'php' ? 'receiver.php' : (START[id].split(' ').at(-1) as string)
      await writeFile(join(folder, file), text.replaceAll('3000', String(port)))
      const command = id === 'php' ? `php -S 127.0.0.1:${port} ${file}` : START[id]
      const receiver = spawn('bash', ['-c', `exec ${command}`], { cwd: folder, env: ENV, detached: true })
      let printed = ''
      for (const stream of [receiver.stdout, receiver.stderr])
        stream.on('data', (chunk) => (printed += chunk))
      try {
        const body = payloadOf('ven_acme', '2026-11-22T03:04:05.678Z')
        const answer = await untilAnswered(`http://127.0.0.1:${port}/events`, body)
        assert.equal(answer.status, 204)
        while (!printed.includes('test_event ven_acme 2026-11-22')) await setTimeout(20)
      } finally {
        process.kill(-(receiver.pid as number))
      }
    })
  }
})

function hasTool(tool: string): boolean {
  if (isAbsolute(tool)) return true
  return (process.env.PATH ?? '').split(delimiter).some((place) => existsSync(join(place, tool)))
}
