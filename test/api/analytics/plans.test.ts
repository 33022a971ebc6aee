import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { insertCompany } from '../../../apps/api/accounts/people.ts'
import type { AnalyticsEvent } from '../../../apps/api/analytics/event.ts'
import { findRememberedIds, readStoredDays, storeEvents } from '../../../apps/api/analytics/store.ts'
import { forBlock } from '../../support/block.ts'
import { explainedDatabase, type Plan } from '../../support/plans.ts'

/** The plans of the statements that the services really run, as Postgres itself reports them. */
describe('the plans of analytics statements', () => {
  const companies = Array.from({ length: 40 }, (_, n) => `ven_company${n}`)
  const vendorId = companies[7] as string
  const explained = forBlock(explainedDatabase)

  before(async () => {
    const { db } = explained
    for (const id of companies)
      await insertCompany(db, { vendorId: id, name: id, timezone: 'UTC', currency: 'EUR' })
    await db.raw(
      `insert into analytics_daily (vendor_id, date, clicks, last_event_at)
       select vendor_id, date '2026-11-20' - n, n, now() from companies, generate_series(0, 499) as n`,
    )
    await db.raw(
      `insert into analytics_event_ids (vendor_id, event_id)
       select vendor_id, gen_random_uuid()::text from companies, generate_series(1, 1000)`,
    )
    // The plans have to be right before the statistics are, so nothing is analysed, however long this takes.
    for (const table of ['analytics_daily', 'analytics_event_ids'])
      await db.raw('alter table ?? set (autovacuum_enabled = off)', [table])
    await explained.explain()
  })

  const scansOf = (found: Plan[], relation: string): Plan[] =>
    found.filter((node) => node['Relation Name'] === relation && /Scan/.test(node['Node Type']))

  function assertNoTableScan(found: Plan[]): void {
    assert.ok(found.length > 0)
    for (const node of found) assert.notEqual(node['Node Type'], 'Seq Scan', JSON.stringify(node))
  }

  const batch = (): AnalyticsEvent[] =>
    Array.from({ length: 1_000 }, (_, n) => ({
      eventId: randomUUID(),
      type: 'click',
      occurredAt_ms: Date.parse('2026-11-20T12:00:00Z'),
      date: `2026-11-${18 + (n % 3)}`,
      quantity: 1,
      amountMinor: null,
    }))

  for (const [days, from] of [
    [30, '2026-10-22'],
    [366, '2025-11-20'],
  ] as const)
    it(`reads ${days} days with one range scan of the key, and touches no other day`, async () => {
      // A named statement gets another plan after its fifth run.
      for (let run = 1; run <= 7; run++) {
        const found = await explained.plansOf(() =>
          readStoredDays(explained.db, { vendorId, from, to: '2026-11-20' }),
        )
        assertNoTableScan(found)
        const scans = scansOf(found, 'analytics_daily').filter((scan) =>
          / date [<>]= |date >= /.test(scan['Index Cond'] ?? ''),
        )
        assert.equal(scans.length, 1, JSON.stringify(found))
        assert.equal(scans[0]?.['Index Name'], 'analytics_daily_pkey')
        assert.match(scans[0]?.['Index Cond'] ?? '', /vendor_id = .* AND .*date >= .* AND .*date <= /)
        assert.equal(scans[0]?.['Actual Rows'], days)
      }
    })

  it('stores a batch by keys: no stored row is read that it does not count up', async () => {
    for (let run = 1; run <= 7; run++) {
      const found = await explained.plansOf(() => storeEvents(explained.db, vendorId, batch()))
      assertNoTableScan(found)
      for (const table of ['analytics_daily', 'analytics_events', 'analytics_event_ids'])
        assert.deepEqual(scansOf(found, table), [])
      const [upsert, ...more] = found.filter((node) => node['Relation Name'] === 'analytics_daily')
      assert.deepEqual([upsert?.['Conflict Arbiter Indexes'], more], [['analytics_daily_pkey'], []])
    }
  })

  it('stores a batch of which a part is known by the key of the ids', async () => {
    const events = batch()
    await storeEvents(explained.db, vendorId, events.slice(500))
    assertNoTableScan(await explained.plansOf(() => storeEvents(explained.db, vendorId, events)))
  })

  it('asks for ids by their key, with no statistics of the table', async () => {
    const events = batch()
    const found = await explained.plansOf(() => findRememberedIds(explained.db, vendorId, events))
    assertNoTableScan(found)
    const [scan] = scansOf(found, 'analytics_event_ids')
    assert.equal(scan?.['Index Name'], 'analytics_event_ids_pkey')
    assert.match(scan?.['Index Cond'] ?? '', /vendor_id = .* AND .*event_id = /)
  })

  it('finds the ids to forget by their age', async () => {
    const { db, plansOf } = explained
    await db.raw(
      "update analytics_event_ids set received_on = received_on - 50 where vendor_id = 'ven_company0'",
    )
    const found = await plansOf(() => db.raw('select forget_old_analytics_event_ids(35, 500)'))
    assertNoTableScan(found)
    assert.ok(found.some((node) => node['Index Name'] === 'analytics_event_ids_by_age'))
  })

  it('erases rows by their place, also those of a company that has far more than others', async () => {
    const { db } = explained
    const insertDays = (vendors: string, days: number) =>
      db.raw(
        `insert into analytics_daily (vendor_id, date, last_event_at)
         select ${vendors}, date '2026-11-20' - day, now() from generate_series(1, ?::int) as day`,
        [days],
      )
    await db.raw('truncate analytics_daily')
    await insertDays(`'ven_' || generate_series(1, 2000)`, 3)
    await db.raw('analyze analytics_daily')
    await insertDays(`'${vendorId}'`, 700)
    await db.raw('update companies set erased_at = now() where vendor_id = ?', [vendorId])
    const found = await explained.plansOf(() =>
      db.raw('select erase_company_rows(?, ?, 1000)', [vendorId, 'analytics_daily']),
    )
    assert.ok(scansOf(found, 'analytics_daily').some((scan) => scan['Node Type'] === 'Tid Scan'))
  })
})
