import assert from 'node:assert/strict'
import { refused, runAdmin, succeeded } from '../support/admin.ts'
import { sharedApi } from '../support/api.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'
import { eventually } from '../support/eventually.ts'

describe('admin client revoke', () => {
  const api = sharedApi()
  const auth = sharedAuth({ beside: api })

  const revoke = (vendorId: string, clientId: string, ...more: string[]) => {
    const env = { DATABASE_URL: api.database.operatorUrl, REDIS_URL: api.redis.url('api') }
    return runAdmin(['client', 'revoke', vendorId, clientId, ...more], { env })
  }
  /** What a request for a token and one with an older token are answered. */
  const statuses = async (client: TestClient, token: string) => [
    (await auth.token(client)).status,
    (await api.request('GET', `/v1/analytics/${client.vendorId}/daily`, { token })).status,
  ]

  it('ends when neither the client nor its tokens are accepted any more', async () => {
    const client = await auth.createClient()
    const token = await api.issuer.token(client)
    // While it fetches the keys for the first time, the API may answer 503.
    await eventually(async () => (await statuses(client, token)).join() === '200,200')
    const { stdout } = await succeeded(revoke(client.vendorId, client.clientId, '--yes'))
    assert.match(stdout, /^cli_\w+ \(A client\) is revoked everywhere\.\n$/)
    assert.deepEqual(await statuses(client, token), [401, 401])
    const { json } = await succeeded(revoke(client.vendorId, client.clientId, '--yes', '--json'))
    assert.deepEqual([json.status, json.revokedBy], ['Revoked', null])
  })

  it('refuses a client of another company', async () => {
    const [client, other] = [await auth.createClient(), await auth.createClient()]
    const refusal = `${other.vendorId} has no client ${client.clientId}.\n`
    await refused(revoke(other.vendorId, client.clientId, '--yes'), refusal)
    assert.equal((await auth.token(client)).status, 200)
  })

  it('works while it cannot reach Redis, and ends when no process can have missed it', async () => {
    const client = await auth.createClient()
    const token = await api.issuer.token(client)
    const env = { DATABASE_URL: api.database.operatorUrl, REDIS_URL: 'redis://127.0.0.1:1' }
    await succeeded(runAdmin(['client', 'revoke', client.vendorId, client.clientId, '--yes'], { env }))
    assert.deepEqual(await statuses(client, token), [401, 401])
  })
})
