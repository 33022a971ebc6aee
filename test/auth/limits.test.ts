import { strict as assert } from 'node:assert'
import { decodeJwt } from 'jose'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { byAssertion, createKeyClient, type KeyClient } from '../support/assertions.ts'
import { type AuthResponse, sharedAuth, startAuth, tokenFields } from '../support/auth.ts'
import { forEachTest } from '../support/block.ts'
import { loggedEvents } from '../support/log.ts'

const LIMITS = {
  RATE_TOKEN_PER_CLIENT: '5/60',
  RATE_TOKEN_REVOCATIONS_PER_CLIENT: '5/60',
  RATE_TOKEN_REVOCATIONS_PER_COMPANY: '5/60',
  RATE_ASSERTIONS_PER_COMPANY: '5/60',
  RATE_INTROSPECTIONS_PER_SERVICE: '5/60',
  RATE_TOKEN_FAILURES_PER_ADDRESS: '5/60',
  TRUSTED_PROXIES: '127.0.0.1',
}
const SEVERAL = [1, 2, 3, 4, 5]

function assertTooMany(response: AuthResponse, policy: string): void {
  assert.equal(response.status, 429, response.text)
  assert.equal(response.json.error, 'temporarily_unavailable')
  const wait = Number(response.headers.get('retry-after'))
  assert.ok(wait >= 1 && wait <= 60, `Retry-After ${wait}`)
  assert.equal(response.headers.get('ratelimit-policy'), `"${policy}";q=5;w=60`)
  assert.match(response.headers.get('ratelimit') ?? '', new RegExp(`^"${policy}";r=0;t=\\d+$`))
  assert.equal(response.headers.get('cache-control'), 'no-store')
}

for (const store of ['with Redis', 'without Redis'])
  describe(`the rate limits of POST /v1/oauth/token, ${store}`, () => {
    const auth = sharedAuth({ env: LIMITS })
    const client = forEachTest(() => auth.createClient())
    let address = 0

    before(async () => {
      if (store === 'without Redis') await auth.redis.stop('SIGKILL')
    })
    beforeEach(() => {
      address += 1
    })

    const from = (source: string, changes: Record<string, string> = {}) =>
      auth.post('/v1/oauth/token', { ...tokenFields(client), ...changes }, { 'x-forwarded-for': source })
    const wrong = (source: string) => from(source, { client_secret: 'wrong' })

    it('counts a client’s bad requests too, and says what is wrong with them first', async () => {
      for (const _ of SEVERAL) assert.equal((await auth.token(client, { scope: 'nope' })).status, 400)
      assertTooMany(await auth.token(client), 'token-client')
      assert.equal((await auth.token(client, { scope: 'nope' })).json.error, 'invalid_scope')
      assert.equal((await auth.token(client, { grant_type: 'nope' })).json.error, 'unsupported_grant_type')
      assert.equal((await auth.token(client, { resource: 'https://x.test' })).json.error, 'invalid_target')
      assert.equal((await auth.token(client, { client_secret: 'x' })).status, 401)
    })

    it('does not let a stranger who knows a client id use up its rate', async () => {
      for (const _ of [...SEVERAL, ...SEVERAL]) await wrong(`192.0.2.${address}`)
      assert.equal((await auth.token(client)).status, 200)
    })

    it('refuses an address over its failures, only while its secret is wrong', async () => {
      const source = `198.51.100.${address}`
      for (const _ of SEVERAL) assert.equal((await wrong(source)).status, 401)
      assertTooMany(await wrong(source), 'token-failures')
      assertTooMany(await from(source, { client_id: newClientId() }), 'token-failures')
      assert.equal((await from(source)).status, 200)
      assert.equal((await wrong(`203.0.113.${address}`)).status, 401)
    })

    it('counts the attempts of a revoked client as failures of its address', async () => {
      await auth.markRevoked(client)
      const source = `198.18.0.${address}`
      for (const _ of SEVERAL) assert.equal((await from(source)).status, 401)
      assertTooMany(await from(source), 'token-failures')
    })

    it('counts the failures of an IPv6 address by its /64', async () => {
      for (const i of SEVERAL) assert.equal((await wrong(`2001:db8:${address}::${i}`)).status, 401)
      assert.equal((await wrong(`2001:db8:${address}:0:ffff::1`)).status, 429)
      assert.equal((await wrong(`2001:db8:${address}:1::1`)).status, 401)
    })

    it('limits the tokens that all clients of a company revoke', async () => {
      const revoke = async () => {
        const one = await auth.createClient({ vendorId: client.vendorId })
        return auth.revokeToken(one, (await auth.token(one)).json.access_token)
      }
      // At once, since each waits for the processes that may have missed it.
      for (const { status } of await Promise.all(SEVERAL.map(revoke))) assert.equal(status, 200)
      assertTooMany(await revoke(), 'token-revocations-company')
    })

    it('refuses to revoke a token that the page has no room for, and tells the client', async () => {
      const token = (await auth.token(client)).json.access_token
      await auth.db.transaction(async (transaction) => {
        await transaction.raw('set local session_replication_role = replica')
        await transaction.raw(
          `insert into revoked_tokens (jti, client_id, expires_at)
           select gen_random_uuid(), ?, now() + interval '1 hour' from generate_series(1, 5000)`,
          [client.clientId],
        )
      })
      const refused = await auth.revokeToken(client, token)
      assert.equal(refused.status, 429, refused.text)
      assert.equal(refused.headers.get('retry-after'), '60')
      assert.equal(refused.headers.get('ratelimit-policy'), '"token-revocations-page";q=10000;w=1200')
      const { jti = '' } = decodeJwt(token)
      assert.equal((await auth.db('revoked_tokens').where({ jti })).length, 0)
      const other = await auth.createClient()
      assert.equal((await auth.revokeToken(other, (await auth.token(other)).json.access_token)).status, 200)
      await auth.db('revoked_tokens').where({ client_id: client.clientId }).delete()
      assert.equal((await auth.revokeToken(client, token)).status, 200)
    })

    it('limits the assertions of a company, not counting those of a revoked client, and no other’s', async () => {
      const send = async (one: KeyClient) => auth.token(one, await byAssertion(auth, one))
      const beside = () => createKeyClient(auth, { vendorId: client.vendorId })
      const revoked = await beside()
      await auth.markRevoked(revoked)
      assert.equal((await send(revoked)).status, 401)
      for (const _ of SEVERAL) assert.equal((await send(await beside())).status, 200)
      assertTooMany(await send(await beside()), 'assertions-company')
      assert.equal((await send(await createKeyClient(auth))).status, 200)
    })

    it('limits POST /v1/oauth/introspect by service, and its failures by address like any other', async () => {
      const service = await auth.createService()
      const source = `203.0.113.${100 + address}`
      const { access_token: token } = (await auth.token(client)).json
      const introspect = (fields: object = {}) =>
        auth.post('/v1/oauth/introspect', { ...service, token, ...fields }, { 'x-forwarded-for': source })
      for (const _ of SEVERAL) assert.equal((await introspect()).status, 200)
      assertTooMany(await introspect(), 'introspections')
      const guess = () => introspect({ client_secret: 'wrong' })
      for (const _ of SEVERAL) assert.equal((await guess()).status, 401)
      assertTooMany(await guess(), 'token-failures')
      assertTooMany(await wrong(source), 'token-failures')
    })

    it('does not let a stranger use up the introspections of a service with tokens that cannot be live', async () => {
      const service = await auth.createService()
      const introspect = (token: string) => auth.introspect(service, token)
      const { access_token: token } = (await auth.token(client)).json
      const forged = `${token.slice(0, -6)}AAAAAA`
      for (const junk of ['x', forged, 'a.b.c', forged, `${token}x`])
        assert.deepEqual((await introspect(junk)).json, { active: false })
      assertTooMany(await introspect(forged), 'introspections')
      for (const _ of SEVERAL) assert.equal((await introspect(token)).json.active, true)
      assertTooMany(await introspect(token), 'introspections')
    })
  })

it('takes client addresses only from a trusted proxy’s X-Forwarded-For', async () => {
  await using auth = await startAuth({ env: { ...LIMITS, TRUSTED_PROXIES: '10.0.0.0/8' } })
  const fields = { ...tokenFields(await auth.createClient()), client_secret: 'wrong' }
  const wrong = (source: string) => auth.post('/v1/oauth/token', fields, { 'x-forwarded-for': source })
  for (const i of SEVERAL) assert.equal((await wrong(`192.0.2.${i}`)).status, 401)
  assert.equal((await wrong('192.0.2.99')).status, 429)
  assert.deepEqual(
    loggedEvents(auth, 'proxy.untrusted').map(({ peer }) => peer),
    ['127.0.0.1'],
  )
})
