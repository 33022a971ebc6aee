import assert from 'node:assert/strict'
import type { Knex } from 'knex'
import { systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { AnalyticsEvent } from '../../../apps/api/analytics/event.ts'
import { createEventPartitions, listEventPurges } from '../../../apps/api/analytics/event-partitions.ts'
import { storeEvents } from '../../../apps/api/analytics/store.ts'
import { runPurges } from '../../../apps/api/stores/purge.ts'
import { recount, storedDays } from '../../support/analytics.ts'
import { startApi } from '../../support/api.ts'
import { freshDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestLog } from '../../support/log.ts'

const INVALID_PARAMETER = { code: '22023' }

describe('housekeeping of analytics events', () => {
  const database = freshDatabase()
  let api: Database
  let owner: Knex
  let vendorId: string
  beforeEach(async () => {
    ;({ api, owner } = database)
    vendorId = await database.createCompany()
  })

  const click = (eventId: string): AnalyticsEvent => ({
    eventId,
    type: 'click',
    occurredAt_ms: Date.parse('2026-11-20T12:00:00Z'),
    date: '2026-11-20',
    quantity: 1,
    amountMinor: null,
  })

  const partitions = async (): Promise<string[]> => {
    const { rows } = await owner.raw(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = 'analytics_events'::regclass order by 1`,
    )
    return rows.map((row: { name: string }) => row.name)
  }

  /** A partition of the week that began `weeks` before this one, with one event of each of its days. */
  async function pastWeek(weeks: number, db = owner): Promise<string> {
    const { rows } = await db.raw(
      `select w as week, 'analytics_events_' || to_char(w at time zone 'UTC', 'YYYYMMDD') as name
       from (select date_trunc('week', now(), 'UTC') - ? * interval '7 days' as w) as t`,
      [weeks],
    )
    const { week, name } = rows[0]
    await db.raw(`create table ${name} (like analytics_events including all)`)
    await db.raw(
      `do $$ begin execute format('alter table analytics_events attach partition ${name} for values from (%L) to (%L)',
         timestamptz '${week.toISOString()}', timestamptz '${week.toISOString()}' + interval '7 days'); end $$`,
    )
    await db.raw(
      `insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, received_at)
       select ?, ? || n, 'click', '2026-01-01', '2026-01-01T12:00Z', 1, ?::timestamptz + n * interval '1 day'
       from generate_series(0, 6) as n`,
      [vendorId, `${name}-`, week.toISOString()],
    )
    return name
  }

  /** Runs the purges. Returns how many ids they forgot, and the partitions that they dropped. */
  async function purge(retention_days: number, remembered_days = 35) {
    const { log, lines } = createTestLog()
    const settings = { EVENT_RETENTION_DAYS: retention_days, EVENT_IDS_REMEMBERED_DAYS: remembered_days }
    const purges = listEventPurges(settings)
    const before = await partitions()
    await runPurges({ db: api, clock: systemClock, log, purges, every_ms: 10_000 }, () => false)
    const after = await partitions()
    const { analytics_event_ids: forgottenIds } = (lines.at(-1)?.deleted ?? {}) as Record<string, number>
    return { forgottenIds, dropped: before.filter((name) => !after.includes(name)) }
  }

  const rememberIds = (days: string, from: number, to: number) =>
    owner.raw(
      `insert into analytics_event_ids (vendor_id, event_id, received_on)
       select ?, 'id-' || n, (now() at time zone 'UTC')::date - ${days}
       from generate_series(${from}, ${to}) as n`,
      [vendorId],
    )
  const eventCount = async () => (await owner('analytics_events')).length

  it('finds partitions for this week and four more made by the migration, and events in the one of this week', async () => {
    assert.equal((await partitions()).filter((name) => /_\d{8}$/.test(name)).length, 5)
    assert.deepEqual(await createEventPartitions(api), [])
    await storeEvents(api, vendorId, [click('a')])
    const { rows } = await owner.raw(
      `select 'analytics_events_' || to_char(date_trunc('week', now(), 'UTC') at time zone 'UTC', 'YYYYMMDD') as week`,
    )
    assert.deepEqual(await owner(rows[0].week).pluck('event_id'), ['a'])
  })

  // Citus locks every partition for a writer, so one is made between two of them, or after two seconds not.
  if (!process.env.TEST_CITUS_URL)
    it('makes a missing partition while writers continue', async () => {
      const last = (await partitions()).filter((name) => /_\d{8}$/.test(name)).at(-1)
      await owner.raw(`drop table ${last}`)
      const writer = await api.transaction()
      await storeEvents(writer, vendorId, [click('a')])
      assert.deepEqual(await createEventPartitions(api), [last])
      await writer.commit()
      assert.ok((await partitions()).includes(last as string))
    })

  it('takes events with no partition made, and leaves them where they are when it makes the next ones', async () => {
    const made = (await partitions()).filter((name) => /_\d{8}$/.test(name))
    for (const name of made) await owner.raw(`drop table ${name}`)
    assert.deepEqual(await storeEvents(api, vendorId, [click('a')]), { accepted: 1, duplicates: 0 })
    assert.deepEqual(await createEventPartitions(api), made.slice(1))
    const again = await storeEvents(api, vendorId, [click('a'), click('b')])
    assert.deepEqual(again, { accepted: 1, duplicates: 1 })
    assert.deepEqual(await storedDays(owner, vendorId), await recount(owner, vendorId))
  })

  it('drops the weeks that are older than the retention, to the day, and no figure changes', async () => {
    await storeEvents(api, vendorId, [click('a'), click('b')])
    const days = await storedDays(owner, vendorId)
    const [kept, old, older] = [await pastWeek(6), await pastWeek(14), await pastWeek(15)]
    assert.equal(await eventCount(), 23)
    const { dropped } = await purge(91 - 7)
    assert.deepEqual(dropped, [older, old].sort())
    assert.ok((await partitions()).includes(kept))
    assert.equal(await eventCount(), 9)
    assert.deepEqual(await storedDays(owner, vendorId), days)
    await owner.raw('truncate analytics_events')
    assert.deepEqual(await storedDays(owner, vendorId), days)
  })

  it('keeps a week while its newest event is younger than the retention', async () => {
    const week = await pastWeek(6)
    // The week ended between 35 and 42 days ago.
    assert.deepEqual((await purge(42)).dropped, [])
    assert.deepEqual((await purge(35)).dropped, [week])
  })

  it('remembers ids for as many whole days as it is told, after the day that they came', async () => {
    await rememberIds('n', 0, 60)
    assert.equal((await purge(90, 50)).forgottenIds, 10)
    const { rows } = await owner.raw(
      "select max((now() at time zone 'UTC')::date - received_on) as age from analytics_event_ids",
    )
    assert.equal(rows[0].age, 50)
  })

  it('forgets more ids than one step takes', async () => {
    await rememberIds('36', 1, 25_000)
    assert.equal((await purge(90)).forgottenIds, 25_000)
  })

  it('drops old weeks although old events outside them cannot be deleted', async () => {
    const week = await pastWeek(20)
    await owner.raw('revoke execute on function delete_old_default_events from integration_api')
    assert.deepEqual((await purge(90)).dropped, [week])
  })

  it('refuses to drop what is younger than 35 days, and to make partitions without end', async () => {
    const days = [34, 0, -1, null]
    for (const [call, values] of [
      ['drop_old_analytics_events(?)', days],
      ['delete_old_default_events(?, 1)', days],
      ['forget_old_analytics_event_ids(?, 1)', days],
      ['create_analytics_event_partitions(?)', [53, -1, null]],
    ] as const)
      for (const value of values) await assert.rejects(api.raw(`select ${call}`, [value]), INVALID_PARAMETER)
  })

  it('runs in each process of the API at start, with the configured retention', async () => {
    await using api = await startApi()
    vendorId = (await api.createCompany()).vendorId
    const [kept, old] = [await pastWeek(12, api.db), await pastWeek(14, api.db)]
    const env = { EVENT_RETENTION_DAYS: '49', EVENT_IDS_REMEMBERED_DAYS: '50' }
    await assert.rejects(startApi({ beside: api, env }), /EVENT_IDS_REMEMBERED_DAYS: must be at most EVENT_R/)
    await using _other = await startApi({ beside: api, env: { ...env, EVENT_RETENTION_DAYS: '91' } })
    await eventually(async () => {
      const { rows } = await api.db.raw('select to_regclass(?) as old, to_regclass(?) as kept', [old, kept])
      assert.equal(rows[0].kept, kept)
      return rows[0].old === null
    })
  })
})
