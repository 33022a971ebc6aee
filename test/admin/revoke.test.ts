import assert from 'node:assert/strict'
import { decodeProtectedHeader } from 'jose'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { fetchToken } from '../support/fetch-token.ts'
import { startTestStack } from '../support/stack.ts'

describe('admin revoke', () => {
  const stack = forBlock(startTestStack)

  /** Finds the running stack by its data folder, as a person's command does. */
  const admin = (...args: string[]) => runAdmin(args, { env: { DATA_DIR: stack.dataDir, DATABASE_URL: '' } })

  const requestToken = () => fetchToken(stack.baseUrl, stack.demoClient)
  /** Right after the key that signed was revoked, there is no other for a moment. */
  const token = () =>
    eventually(async () => {
      const response = await requestToken()
      const { access_token } = (await response.json()) as { access_token?: string }
      assert.equal(response.status, access_token === undefined ? 503 : 200)
      return access_token
    })
  const requestStatus = async (token: string) => {
    const headers = { Authorization: `Bearer ${token}` }
    return (await fetch(`${stack.baseUrl}/v1/analytics/ven_acme/daily`, { headers })).status
  }

  describe('keys', () => {
    it('ends when no token of the key is accepted, and another key signs from then on', async () => {
      const stolen = await token()
      assert.equal(await requestStatus(stolen), 200)
      const kid = decodeProtectedHeader(stolen).kid as string
      const { stdout } = await succeeded(admin('keys', 'revoke', kid, '--yes'))
      assert.equal(stdout, `${kid} is revoked everywhere.\n`)
      assert.equal(await requestStatus(stolen), 401)
      const fresh = await token()
      assert.notEqual(decodeProtectedHeader(fresh).kid, kid)
      // The resource API looks for an unknown key at most once per ten seconds.
      await eventually(async () => (await requestStatus(fresh)) === 200, { every_ms: 200 })
      const { json } = await admin('keys', 'list', '--json')
      assert.equal(json.find((key: { kid: string }) => key.kid === kid).state, 'revoked')
    })

    it('refuses an unknown key', async () => {
      await refused(admin('keys', 'revoke', 'none'), 'There is no key none.\n')
    })

    it('takes what follows -- for an id, whatever it begins with', async () => {
      await refused(admin('keys', 'revoke', '--', '-none'), 'There is no key -none.\n')
    })
  })

  describe('clients', () => {
    it('refuses a client of another company, and an unknown one', async () => {
      for (const [vendorId, clientId] of [
        ['ven_globex', stack.demoClient.clientId],
        ['ven_acme', 'cli_0000000000000000000000'],
      ] as const) {
        await refused(
          admin('clients', 'revoke', vendorId, clientId),
          `${vendorId} has no client ${clientId}.\n`,
        )
      }
      assert.equal((await requestToken()).status, 200)
    })

    it('ends when neither the client nor its tokens are accepted any more', async () => {
      const tokens = [await token(), await token()]
      for (const each of tokens) assert.equal(await requestStatus(each), 200)

      const { stdout } = await succeeded(
        admin('clients', 'revoke', 'ven_acme', stack.demoClient.clientId, '--yes'),
      )
      assert.match(stdout, /^cli_\w+ \(Demo client of the local stack\) is revoked everywhere\.\n$/)

      for (const each of tokens) assert.equal(await requestStatus(each), 401)
      assert.equal((await requestToken()).status, 401)
    })

    it('keeps the promise when repeated', async () => {
      const { json } = await succeeded(
        admin('clients', 'revoke', 'ven_acme', stack.demoClient.clientId, '--yes', '--json'),
      )
      assert.equal(json.status, 'Revoked')
      assert.equal(json.revokedBy, null)
      assert.equal((await requestToken()).status, 401)
    })

    it('works while Redis is down, and ends when no process can have missed it', async () => {
      const databaseUrl = stack.stores.postgres.operatorUrl
      await succeeded(
        runAdmin(['clients', 'revoke', 'ven_acme', stack.demoClient.clientId, '--yes'], {
          env: { DATABASE_URL: databaseUrl, REDIS_URL: 'redis://127.0.0.1:1' },
        }),
      )
    })
  })
})
