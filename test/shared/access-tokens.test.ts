import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { createAccessTokens } from '#shared/access-tokens/access-tokens.ts'
import { createSigningKeys, type SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { createRedis, type Redis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { startApi, TEST_TIMINGS, type TestApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createExampleService } from '../support/example-service.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { addVerifier } from '../support/revocation.ts'

describe('another service of the company that takes access tokens', () => {
  let api: TestApi
  let keys: SigningKeys
  let db: Database
  let redis: Redis
  let revocation: Revocation
  let server: Server
  let url: string
  before(async () => {
    api = await startApi()
    const { clock, database } = api
    keys = createSigningKeys({ url: api.issuer.jwksUrl, clock, log: silentLog() })
    await keys.start()
    // Neither a database role nor a Redis user that may change anything of the clients.
    db = createPostgres({ url: database.authUrl, poolSize: 2, applicationName: 'example' })
    redis = createRedis({ url: await addVerifier(api.redis), connectionName: 'example' })
    await redisReady(redis)
    revocation = createRevocation({ redis, db, timings: TEST_TIMINGS })
    server = createExampleService({ keys, issuer: ISSUER, resource: API_RESOURCE, revocation, clock })
    url = `http://127.0.0.1:${await listen(server, { host: '127.0.0.1', port: 0 })}`
  })
  after(async () => {
    await drain(server, 0)
    keys.stop()
    redis.disconnect()
    await db.destroy()
    await api.stop()
  })

  async function add(vendorId: string, token?: string) {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/${vendorId}/products`, { method: 'POST', headers })
    const challenge = response.headers.get('www-authenticate') ?? ''
    return { status: response.status, text: await response.text(), challenge }
  }

  it('admits a live token with the scope for the company, and says why it refuses another', async () => {
    const { vendorId } = await api.createCompany()
    const { clientId } = await api.createClient({ vendorId, scopes: ['catalog:write'] })
    const client = { clientId, vendorId }
    const token = await api.issuer.token({ ...client, scope: 'catalog:write boost:read' })
    assert.deepEqual(await add(vendorId, token), { status: 201, text: `added by ${clientId}`, challenge: '' })

    const none = await add(vendorId)
    assert.equal(none.status, 401)
    assert.equal(none.challenge, 'Bearer realm="https://api.test"')
    const forged = await add(vendorId, `${token.slice(0, -8)}AAAAAAAA`)
    assert.equal(forged.status, 401)
    assert.match(forged.challenge, /error="invalid_token", error_description="The signature is invalid"/)
    const reading = await add(vendorId, await api.issuer.token({ ...client, scope: 'analytics:read' }))
    assert.equal(reading.status, 403)
    assert.match(reading.challenge, /error="insufficient_scope".*scope="catalog:write"/)
    const { vendorId: other } = await api.createCompany()
    assert.equal((await add(other, token)).status, 403)
  })

  it('refuses every token of a client from its revocation on', async () => {
    const { vendorId } = await api.createCompany()
    const { sessionToken } = await api.createPerson({ vendorId })
    const { clientId } = await api.createClient({ vendorId, scopes: ['catalog:write'] })
    const token = await api.issuer.token({ clientId, vendorId, scope: 'catalog:write' })
    assert.equal((await add(vendorId, token)).status, 201)
    const revoke = `/v1/vendor/${vendorId}/oauth-clients/${clientId}/revoke`
    assert.equal((await api.request('POST', revoke, { token: sessionToken })).status, 200)
    const after = await add(vendorId, token)
    assert.equal(after.status, 401)
    assert.match(after.challenge, /was revoked/)
  })

  it('admits nothing when the answer about revocation is none that it knows', async () => {
    const { vendorId } = await api.createCompany()
    const { clientId } = await api.createClient({ vendorId, scopes: ['catalog:write'] })
    const token = await api.issuer.token({ clientId, vendorId, scope: 'catalog:write' })
    for (const answer of [undefined, true, 'Live', '']) {
      const tokens = createAccessTokens({
        keys,
        issuer: ISSUER,
        resource: API_RESOURCE,
        revocation: { ask: async () => answer as never },
        clock: api.clock,
      })
      await assert.rejects(
        tokens.admit({ kind: 'token', token }, { scope: 'catalog:write', vendorId }),
        { code: 'unavailable' },
        String(answer),
      )
    }
  })

  it('asks Redis as a user that may only read', async () => {
    const subject = { clientId: 'cli_x', jti: 'jti', kid: 'kid' }
    await eventually(async () => {
      await revocation.ask(subject)
      return revocation.counts().redis > 0
    })
    assert.equal(revocation.counts().neither, 0)
  })
})
