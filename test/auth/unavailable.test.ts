import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { type AuthResponse, sharedAuth, startAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { asAdmin } from '../support/revocation.ts'
import { allButOne, cutOffDatabase, lockTable } from '../support/stores.ts'

function assertUnavailable(response: AuthResponse): void {
  assert.equal(response.status, 503, response.text)
  assert.equal(response.json.error, 'temporarily_unavailable')
  assert.ok(Number(response.headers.get('retry-after')) >= 1)
  assert.equal(response.headers.get('cache-control'), 'no-store')
}

describe('when neither store can decide', () => {
  let restore: () => Promise<void>
  after(() => restore())
  // An answer that nothing could be decided counts as no failure.
  const limits = { RATE_TOKEN_FAILURES_PER_ADDRESS: '1/60', RATE_TOKEN_PER_CLIENT: '20/60' }
  const auth = sharedAuth({ env: { ...limits, RATE_TOKEN_REVOCATIONS_PER_CLIENT: '2/60' } })
  const client = forBlock(() => auth.createClient())
  const unseen = forBlock(() => auth.createClient())
  const eager = forBlock(() => auth.createClient())
  let token: string

  before(async () => {
    assert.equal((await auth.token(eager)).status, 200)
    token = (await auth.token(client)).json.access_token
    await auth.redis.stop('SIGKILL')
    restore = await cutOffDatabase(auth.database)
  })

  it('reports first what is wrong with the request itself', async () => {
    assert.equal((await auth.token(client, { scope: undefined })).status, 400)
    assert.equal((await auth.token(client, { grant_type: 'x' })).json.error, 'unsupported_grant_type')
    assert.equal((await auth.token(client, { scope: 'x' })).json.error, 'invalid_scope')
    assert.equal((await auth.token(client, { grant_type: undefined })).json.error, 'invalid_request')
  })
  it('answers 503 at once when the client record cannot be read, whatever the secret', async () => {
    assertUnavailable(await auth.token(client, { client_secret: 'x' }))
    assertUnavailable(await auth.token(unseen))
    assertUnavailable(await auth.token(unseen, { client_secret: 'x' }))
    assertUnavailable(await auth.token(unseen, { scope: 'x' }))
  })
  it('answers 429, not 503, to a client over its rate', async () => {
    for (let sent = 0; sent < 20; sent += 1) assertUnavailable(await auth.token(eager))
    assert.equal((await auth.token(eager)).status, 429)
    for (let sent = 0; sent < 2; sent += 1) assertUnavailable(await auth.revokeToken(eager, token))
    assert.equal((await auth.revokeToken(eager, token)).status, 429)
  })
  it('serves again once Postgres is back, without Redis', async () => {
    await restore()
    assert.equal((await auth.token(client)).status, 200)
    assert.equal((await auth.token(unseen)).status, 200)
  })
})

describe('when only one of its deadlines is that of production', () => {
  for (const [deadline, isKnown] of [
    ['statementTimeout_ms', false],
    ['askPostgres_ms', true],
  ] as const)
    it(`answers 503 within seconds by ${deadline} while oauth_clients is locked`, async () => {
      await using auth = await startAuth({ timeouts: allButOne(deadline) })
      const client = await auth.createClient()
      if (isKnown) assert.equal((await auth.token(client)).status, 200)
      const lock = await lockTable(auth.db, 'oauth_clients')
      const from_ms = performance.now()
      const response = await auth.token(client).finally(() => lock.rollback())
      assertUnavailable(response)
      const took_ms = performance.now() - from_ms
      assert.ok(took_ms < 30_000, `${took_ms} ms`)
    })
})

describe('the authorization server', () => {
  it('refuses a revoked client with 401 while Postgres is gone', async () => {
    await using auth = await startAuth()
    const client = await auth.createClient()
    assert.equal((await auth.token(client)).status, 200)
    await asAdmin(auth.redis, (redis) => redis.set(redisKeys.revoked('client', client.clientId), '1'))
    const restore = await cutOffDatabase(auth.database)
    assert.equal((await auth.token(client)).status, 401)
    await restore()
  })

  // The database was restored under a Redis that still has its lease.
  it('issues no token but to clients it knew, for the lease, and to none that was revoked ever', async () => {
    await using auth = await startAuth({ trusted: true })
    const [known, recent] = [await auth.createClient(), await auth.createClient()]
    const old = await auth.createClient()
    for (const client of [known, recent]) assert.equal((await auth.token(client)).status, 200)
    // Rounds copy clients that were revoked within a day. The backup is older, so it has both as Active.
    await asAdmin(auth.redis, (redis) => redis.set(redisKeys.revoked('client', recent.clientId), '1'))
    await auth.db('revocation_trust').update({ place: 'another/1/1' })
    const restoredAt_ms = performance.now()
    const assertRefused = async () => {
      assertUnavailable(await auth.token(old))
      assert.notEqual((await auth.token(recent)).status, 200)
    }
    do {
      await assertRefused()
      assert.ok(performance.now() - restoredAt_ms < PRODUCTION_TIMINGS.lease_ms + 1_000, 'too late')
    } while ((await auth.token(known)).status === 200)
    for (const _ of [1, 2, 3]) {
      await sleep(200)
      await assertRefused()
      assertUnavailable(await auth.token(known))
    }
  })
})
