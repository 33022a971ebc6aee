import assert from 'node:assert/strict'
import { createDailyReads } from '../../apps/api/analytics/daily-analytics.ts'
import { reviseDays } from '../support/analytics.ts'
import { type ApiResponse, freshApi } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { passing } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { assertProblem } from '../support/problem.ts'
import { allButOne, lockTable, SILENT_DATABASE } from '../support/stores.ts'

const REVISIONS = '%from analytics_revisions where vendor_id = any%'
const DAYS = '%from analytics_daily where vendor_id = $1 and date between%'

describe('a daily read, which asks for the revision before the token is allowed', () => {
  const api = freshApi({ env: { RATE_API_PER_CLIENT: '1/60' }, timeouts: allButOne('revision_ms') })
  beforeEach(() => api.db.raw('create extension pg_stat_statements'))

  async function reader() {
    const owner = await api.createOwner()
    const { vendorId } = owner
    const { clientId } = await owner.createClient()
    const addDay = async (date: string) => {
      await api.db('analytics_daily').insert({ vendor_id: vendorId, date, last_event_at: new Date() })
      await reviseDays(api.db, vendorId)
    }
    const read = async ({ of = vendorId, scope = 'analytics:read' } = {}): Promise<ApiResponse> =>
      api.request('GET', `/v1/analytics/${of}/daily`, {
        token: await api.issuer.token({ clientId, vendorId, scope }),
      })
    async function revoke(): Promise<void> {
      assert.equal((await owner.request('POST', `oauth-clients/${clientId}/revoke`)).status, 200)
    }
    return { vendorId, addDay, read, revoke }
  }

  /** How often the API has run a statement. */
  async function runs(statement: string): Promise<number> {
    const { rows } = await api.db.raw(
      `select coalesce(sum(calls), 0)::int as runs from pg_stat_statements
       where query like ? and dbid = (select oid from pg_database where datname = current_database())
         and userid = 'integration_api'::regrole`,
      [statement],
    )
    return rows[0].runs
  }
  const reached = (statement: string, times: number) =>
    eventually(async () => (await runs(statement)) === times, { otherwise: () => `never ${times}` })

  function assertNothingOf(response: ApiResponse): void {
    assert.equal(response.headers.get('etag'), null)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.deepEqual(Object.keys(response.json).sort(), [
      ...['code', 'detail', 'requestId', 'status', 'title', 'type'],
    ])
  }

  it('reads no day for a revoked client, and answers nothing of what it asked early', async () => {
    const { read, revoke, addDay } = await reader()
    await addDay('2026-11-20')
    await revoke()
    const refused = await read()
    assertProblem(refused, 'invalid_token')
    assertNothingOf(refused)
    await reached(REVISIONS, 1)
    const allowed = await reader()
    assert.equal((await allowed.read()).status, 200)
    await reached(DAYS, 1)
  })

  it('reads no day for a client above its limit, though the days have changed', async () => {
    const { read, addDay } = await reader()
    assert.equal((await read()).status, 200)
    await addDay('2026-11-20')
    const refused = await read()
    assertProblem(refused, 'rate_limited')
    assertNothingOf(refused)
    await reached(REVISIONS, 2)
    // Whatever the refused read asked for was asked before this one's days, which are the second.
    const allowed = await reader()
    assert.equal((await allowed.read()).status, 200)
    await reached(REVISIONS, 3)
    await reached(DAYS, 2)
  })

  it('asks nothing early for a token without the scope or for another company', async () => {
    const [one, other] = [await reader(), await reader()]
    assertProblem(await one.read({ scope: 'boost:read' }), 'insufficient_scope')
    assertProblem(await other.read({ of: one.vendorId }), 'forbidden')
    const allowed = await reader()
    assert.equal((await allowed.read()).status, 200)
    await reached(DAYS, 1)
    assert.equal(await runs(REVISIONS), 1)
  })

  it('refuses a revoked client at once, and puts another off, if the early question has no answer', async () => {
    const [live, { read, revoke }] = [await reader(), await reader()]
    await revoke()
    const lock = await lockTable(api.db, 'analytics_revisions')
    await using _ = afterwards(() => lock.rollback())
    assertProblem(await read(), 'invalid_token')
    assert.equal((await live.read()).json.detail, 'The database takes too long. Try again shortly.')
  })

  it('gives up after two seconds on a database that does not answer the early question', async () => {
    const { readRevision } = createDailyReads({ db: SILENT_DATABASE, turns: (_, read) => read() })
    const late = passing(2_000, () => readRevision('ven_a'))
    await assert.rejects(late, { code: 'unavailable' })
  })

  it('refuses a revoked token without the scope as revoked', async () => {
    const { read, revoke } = await reader()
    await revoke()
    assertProblem(await read({ scope: 'boost:read' }), 'invalid_token')
  })
})
