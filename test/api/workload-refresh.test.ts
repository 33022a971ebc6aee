import assert from 'node:assert/strict'
import { createMetrics } from '#shared/process/metrics.ts'
import { measureIssuers } from '../../apps/api/metrics.ts'
import { createFetchKeys, type FetchKeys } from '../../apps/api/workload/fetch-keys.ts'
import { refreshIssuers } from '../../apps/api/workload/refresh-issuers.ts'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertionFields, type KeyPair, newKeyPair, signJwt } from '../support/assertions.ts'
import { sharedAuth } from '../support/auth.ts'
import { forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { ISSUER } from '../support/issuer.ts'
import { createTestLog } from '../support/log.ts'
import { assertInvalid } from '../support/problem.ts'
import { untilBlocked } from '../support/stores.ts'
import { startWorkloadIssuer } from '../support/workload-issuer.ts'
import { TEST_INTERNET } from './callbacks/sending.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
type SigningKey = KeyPair & { kid: string }
const CLIENT = { name: 'A', scopes: ['analytics:read'] }
const FIRST = { ...newKeyPair().jwk, kid: 'first' }
const SECOND = { ...newKeyPair().jwk, kid: 'second' }

describe('an issuer of workloads that publishes its keys', () => {
  const api = sharedApi({ internet: TEST_INTERNET })
  const owner = freshOwner(api)
  const server = forEachTest(() => startWorkloadIssuer([FIRST]))
  const { log, lines } = createTestLog()
  afterEach(() => api.db.raw(`update workload_issuers set keys_from = 'pasted'`))

  const create = (headers: Record<string, string> = {}, person = owner) =>
    person.request('POST', 'oauth-clients', {
      body: { ...CLIENT, workload: { issuer: server.issuer, claims: { sub: 'a' } } },
      headers,
    })
  const issuer = async (person = owner) => (await person.request('GET', 'workload-issuers')).json.issuers[0]
  const refresh = (fetchKeys: FetchKeys = createFetchKeys(TEST_INTERNET)) =>
    refreshIssuers({ db: api.apiDb, clock: api.clock, log, fetchKeys, isEnding: () => false })
  const fetches = () => server.requests.filter((line) => line === 'GET /keys').length
  const use = (clientId: string) =>
    api.db.raw(
      `insert into client_usage (client_id, first_used_at, last_used_at) values (:clientId, :at, :at)
       on conflict (client_id) do update set last_used_at = :at`,
      { clientId, at: new Date(api.clock.now()) },
    )
  const now = () => new Date(api.clock.now()).toISOString()
  const breakDown = () => {
    server.published.answer = (_, response) => response.writeHead(503).end()
  }
  const BROKEN = 'it must answer with status 200, without a redirect'

  it('has its keys fetched when a client is created', async () => {
    const { status, json } = await create()
    assert.equal(status, 201)
    assert.deepEqual(json.workload, { issuer: server.issuer, platform: null, claims: { sub: 'a' } })
    const expected = { keysFrom: 'issuer', keysAsOf: now(), keyIds: ['first'], failing: null }
    assert.deepEqual(await issuer(), { issuer: server.issuer, ...expected })
  })

  it('is refused with the reason if its keys cannot be fetched, and nothing is stored', async () => {
    breakDown()
    const answer = await create()
    assertInvalid(answer, '/workload/issuer')
    assert.equal(answer.json.errors[0].detail, `must publish its keys: ${BROKEN}`)
    for (const table of ['oauth_clients', 'workload_issuers'])
      assert.deepEqual(await api.db(table).where({ vendor_id: owner.vendorId }), [])
  })

  it('does not fetch an issuer’s keys again when a creation is repeated', async () => {
    const first = await create({ 'Idempotency-Key': 'a' })
    breakDown()
    const again = await create({ 'Idempotency-Key': 'a' })
    assert.deepEqual([first.status, again.status], [201, 200])
    assert.equal(again.json.clientId, first.json.clientId)
  })

  it('delays no one but its own company while it is slow', async () => {
    server.published.answer = () => {}
    const slow = await Promise.all([1, 2, 3].map(() => api.createOwner()))
    // Twice as many as the workspace has connections to Postgres.
    const waiting = slow.flatMap((person) => [1, 2, 3].map(() => create({}, person)))
    await eventually(() => server.requests.length >= 6)
    const { status } = await Promise.race([owner.request('GET', 'oauth-clients'), ...waiting])
    assert.equal(status, 200)
    for (const answer of await Promise.all(waiting)) assert.match(`${answer.status}`, /^(?:422|503)$/)
  })

  it('fetches keys again after about ten minutes if the workload was used in the last day, else within an hour', async () => {
    const { json } = await create()
    await use(json.clientId)
    server.published.keys = [SECOND]
    api.clock.advance(8 * MINUTE_MS)
    await refresh()
    assert.deepEqual((await issuer()).keyIds, ['first'])
    api.clock.advance(4 * MINUTE_MS)
    await refresh()
    assert.partialDeepStrictEqual(await issuer(), { keyIds: ['second'], keysAsOf: now() })
    assert.equal(fetches(), 2)

    api.clock.advance(25 * HOUR_MS)
    await refresh()
    api.clock.advance(44 * MINUTE_MS)
    await refresh()
    assert.equal(fetches(), 3)
    api.clock.advance(12 * MINUTE_MS)
    await refresh()
    assert.equal(fetches(), 4)
  })

  it('fetches keys again that a process with a clock a year ahead fetched', async () => {
    await create()
    const time = api.clock.now()
    api.clock.advance(365 * 24 * HOUR_MS)
    await refresh()
    api.clock.set(time)
    await refresh()
    assert.equal(fetches(), 3)
    assert.equal((await issuer()).keysAsOf, now())
  })

  it('fetches an issuer’s keys by one process alone, for all companies', async () => {
    await create()
    api.clock.advance(4 * MINUTE_MS)
    const other = await api.createOwner()
    await create({}, other)
    const pasted = await api.createOwner()
    await create({}, pasted)
    await api.db('workload_issuers').where({ vendor_id: pasted.vendorId }).update({ keys_from: 'pasted' })
    assert.equal(fetches(), 3)
    server.published.keys = [SECOND]
    api.clock.advance(2 * HOUR_MS)
    // Until it ends, all three see that the keys are due.
    const blocked = await api.db.transaction()
    await blocked.raw('select from workload_issuers for update')
    const rounds = [refresh(), refresh(), refresh()]
    await untilBlocked(api.db, 3)
    await blocked.rollback()
    await Promise.all(rounds)
    assert.equal(fetches(), 4)
    assert.deepEqual((await issuer(pasted)).keyIds, ['first'])
    for (const person of [owner, other]) assert.deepEqual((await issuer(person)).keyIds, ['second'])
  })

  it('fetches the keys of all that are due in one round, however many they are, though one fails', async () => {
    const { json } = await create()
    await api.db.raw(
      `with issuers as (
         insert into workload_issuers
         select vendor_id, 'https://' || n || '.example', keys_from, keys, keys_as_of, attempted_at
         from workload_issuers, generate_series(11, 50) n where vendor_id = ? returning issuer)
       insert into oauth_clients (client_id, vendor_id, name, scopes, workload_issuer, workload_claims)
       select 'cli_' || repeat('0', 20) || substr(issuer, 9, 2), vendor_id, 'n', scopes, issuer, workload_claims
       from oauth_clients, issuers where client_id = ?`,
      [owner.vendorId, json.clientId],
    )
    const fetched = new Set<string>()
    api.clock.advance(2 * HOUR_MS)
    const round = refresh(async (each) => {
      fetched.add(each)
      if (fetched.size === 1) throw new Error('a fault of ours')
      return 'not reachable'
    })
    await assert.rejects(round, { errors: [new Error('a fault of ours')] })
    assert.equal(fetched.size, 41)
  })

  it('stops fetching an issuer’s keys once no Active client trusts it', async () => {
    const { json } = await create()
    await owner.request('POST', `oauth-clients/${json.clientId}/revoke`)
    api.clock.advance(2 * HOUR_MS)
    await refresh()
    assert.equal(fetches(), 1)
  })

  it('is reported as failing after an hour, in the metrics too, until it publishes its keys again', async () => {
    const metrics = createMetrics({ service: 'test' })
    measureIssuers(metrics, api.apiDb, api.clock)
    const gauge = () => metrics.registry.getSingleMetric('integration_workload_issuers_failing')?.get()
    const failing = async () => (await gauge())?.values[0]?.value
    const { json } = await create()
    await use(json.clientId)
    const keysAsOf = now()
    breakDown()
    api.clock.advance(50 * MINUTE_MS)
    await refresh()
    assert.partialDeepStrictEqual(await issuer(), { failing: null, keyIds: ['first'] })
    assert.equal(await failing(), 0)
    const failed = { event: 'workload_issuer.failed', issuer: server.issuer, failure: BROKEN }
    assert.partialDeepStrictEqual(lines.at(-1), failed)
    api.clock.advance(11 * MINUTE_MS)
    await refresh()
    const sentence = `The keys could not be fetched: ${BROKEN}.`
    assert.partialDeepStrictEqual(await issuer(), { failing: sentence, keysAsOf, keyIds: ['first'] })
    assert.equal(await failing(), 1)
    delete server.published.answer
    api.clock.advance(12 * MINUTE_MS)
    await refresh()
    assert.partialDeepStrictEqual(await issuer(), { failing: null, keysAsOf: now() })
    assert.equal(await failing(), 0)
  })

  it('is reported as failing after an hour if no one asked', async () => {
    await create()
    api.clock.advance(59 * MINUTE_MS)
    assert.equal((await issuer()).failing, null)
    api.clock.advance(MINUTE_MS)
    assert.equal((await issuer()).failing, 'The keys could not be fetched: the service did not try.')
  })

  describe('and signs tokens', () => {
    const auth = sharedAuth({ beside: api })
    const [own, next] = ['own', 'next'].map((kid) => ({ ...newKeyPair(), kid })) as [SigningKey, SigningKey]

    const foreignToken = ({ kid, privateKey }: SigningKey) => {
      const iat = Math.floor(api.clock.now() / 1_000)
      const claims = { iss: server.issuer, sub: 'a', aud: ISSUER, iat, exp: iat + 3_600 }
      return signJwt(claims, privateKey, { alg: 'ES256', kid })
    }
    const status = async (client_id: string, token: string) => {
      const grant = { grant_type: 'client_credentials', scope: 'analytics:read', client_id }
      return (await auth.post('/v1/oauth/token', { ...grant, ...assertionFields(token) })).status
    }
    /** Publishes these keys, the first of which signs. */
    const publish = (...keys: SigningKey[]) => {
      server.published.keys = keys.map(({ kid, jwk }) => ({ ...jwk, kid }))
    }

    it('changes its key while its workloads get tokens, and is not believed by the old one', async () => {
      publish(own)
      const { clientId } = (await create()).json
      await use(clientId)
      const old = await foreignToken(own)
      assert.equal(await status(clientId, old), 200)
      for (const keys of [[own, next], [next, own], [next]] as [SigningKey, ...SigningKey[]][]) {
        publish(...keys)
        assert.equal(await status(clientId, await foreignToken(keys[0])), 200, 'before its keys are fetched')
        api.clock.advance(12 * MINUTE_MS)
        await refresh()
        assert.equal(await status(clientId, await foreignToken(keys[0])), 200, 'once they are')
      }
      assert.deepEqual((await issuer()).keyIds, ['next'])
      assert.equal(await status(clientId, old), 401)
    })
  })
})
