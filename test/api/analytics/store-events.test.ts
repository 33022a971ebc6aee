import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Knex } from 'knex'
import type { Database } from '#shared/stores/postgres.ts'
import { createDateFinder } from '../../../apps/api/analytics/calendar.ts'
import type { AnalyticsEvent, AnalyticsEventType } from '../../../apps/api/analytics/event.ts'
import { SumTooLargeError, storeEvents } from '../../../apps/api/analytics/store.ts'
import { recount, storedDays } from '../../support/analytics.ts'
import { sharedDatabase } from '../../support/database.ts'
import { connectedDatabase, endBlocked, untilBlocked } from '../../support/stores.ts'
import { EVERYTHING } from '../../support/tier.ts'

const HOUR_MS = 3_600_000
const MAX = Number.MAX_SAFE_INTEGER

describe('storing events', () => {
  const database = sharedDatabase()
  /** Two processes of the API. */
  let pools: [Database, Database]
  let owner: Knex
  before(() => {
    pools = [database.api, database.connect('api', { poolSize: 6 })]
    ;({ owner } = database)
  })

  const company = (timezone = 'Europe/Berlin') => database.createCompany({ timezone })

  const click = (eventId: string, date = '2026-11-20', quantity = 1): AnalyticsEvent => ({
    eventId,
    type: 'click',
    occurredAt_ms: Date.parse(`${date}T12:00:00Z`),
    date,
    quantity,
    amountMinor: null,
  })

  const order = (eventId: string, amountMinor: number): AnalyticsEvent => ({
    ...click(eventId),
    type: 'order',
    amountMinor,
  })

  /** Retries until there is an answer, as a sender does. A pool may first hand out a killed connection. */
  async function repeated(db: Database, vendorId: string, events: AnalyticsEvent[]) {
    for (let tries = 1; ; tries++)
      try {
        return await storeEvents(db, vendorId, events)
      } catch (error) {
        if (tries === 10 || !/Connection (terminated|ended)/.test((error as Error).message)) throw error
      }
  }

  it('counts an id once in a call and over calls, and keeps the first', async () => {
    const vendorId = await company()
    const result = { accepted: 1, duplicates: 1 }
    const [three, nine] = [click('a', undefined, 3), click('a', undefined, 9)]
    assert.deepEqual(await storeEvents(pools[0], vendorId, [three, nine]), result)
    assert.deepEqual(await storeEvents(pools[1], vendorId, [click('b'), order('a', 5)]), result)
    const [day] = await storedDays(owner, vendorId)
    assert.deepEqual([day?.clicks, day?.orders], ['4', '0'])
  })

  it('keeps the time of the newest event and the day of the first report when an older event comes later', async () => {
    const vendorId = await company()
    const dayOf = () =>
      owner('analytics_daily').where({ vendor_id: vendorId }).first('last_event_at', 'first_received_on')
    await storeEvents(pools[0], vendorId, [click('a')])
    await owner.raw('update analytics_daily set first_received_on = first_received_on - 20')
    const before = await dayOf()
    const older = { ...click('b'), occurredAt_ms: Date.parse('2026-11-20T11:00:00Z') }
    await storeEvents(pools[0], vendorId, [older])
    assert.deepEqual(await dayOf(), before)
  })

  it('keeps the ids of companies apart', async () => {
    const [one, other] = [await company(), await company()]
    assert.equal((await storeEvents(pools[0], one, [click('same')])).accepted, 1)
    assert.equal((await storeEvents(pools[0], other, [click('same')])).accepted, 1)
  })

  it('distinguishes ids by their bytes: no folding, trimming or normalising', async () => {
    const vendorId = await company()
    const ids = [...`aA"\\',`, 'é', 'e\u0301', ' a', 'a ', '{a,b}', 'null', 'NULL', '\u{1F600}']
    const events = ids.map((id) => click(id))
    assert.equal((await storeEvents(pools[0], vendorId, events)).accepted, ids.length)
    const stored = await owner('analytics_events').where({ vendor_id: vendorId }).pluck('event_id')
    assert.deepEqual(stored.sort(), ids.sort())
  })

  it('stores nothing without a company, and does not end the coordinator of a cluster', async () => {
    const sql = `select store_analytics_events(null, '{e}', '{click}', '{2026-11-20}', '{1}', '{1}', '{null}')`
    assert.deepEqual((await database.api.raw(sql)).rows, [{ store_analytics_events: null }])
  })

  it('refuses a call whose own sum is beyond even 64 bits', async () => {
    const vendorId = await company()
    const events = Array.from({ length: 1_025 }, (_, n) => order(`n${n}`, MAX))
    await assert.rejects(storeEvents(pools[0], vendorId, events), SumTooLargeError)
    assert.deepEqual(await storedDays(owner, vendorId), [])
  })

  // Together 26 hours apart: in one of them it is another day than in UTC.
  for (const timezone of ['Etc/GMT+12', 'Pacific/Kiritimati'])
    it(`remembers ids under the day in UTC on a connection that is set to ${timezone}`, async () => {
      const vendorId = await company()
      const url = new URL(database.apiUrl)
      url.searchParams.set('options', `-c timezone=${timezone}`)
      await using writer = connectedDatabase(url.href)
      assert.equal((await writer.raw('show timezone')).rows[0].TimeZone, timezone)
      await storeEvents(writer, vendorId, [click('a')])
      assert.equal((await storeEvents(writer, vendorId, [click('a'), click('b')])).duplicates, 1)
      const { rows } = await writer.raw(
        `select event_id, received_on = (now() at time zone 'UTC')::date as today
         from analytics_event_ids where vendor_id = ? order by event_id`,
        [vendorId],
      )
      assert.deepEqual(rows, [
        { event_id: 'a', today: true },
        { event_id: 'b', today: true },
      ])
    })

  for (const [end, counted] of [
    ['rollback', { accepted: 2, duplicates: 0 }],
    ['commit', { accepted: 1, duplicates: 1 }],
  ] as const)
    it(`waits for a writer that holds the same id, and counts by its ${end}`, async () => {
      const vendorId = await company()
      const holder = await owner.transaction()
      await holder('analytics_event_ids').insert({ vendor_id: vendorId, event_id: 'a' })
      const waiting = storeEvents(pools[0], vendorId, [click('a'), click('b')])
      await untilBlocked(owner, 1)
      await holder[end]()
      assert.deepEqual(await waiting, counted)
    })

  it('lets many writers of overlapping ids in any order through without a deadlock', async () => {
    const vendorId = await company()
    const events = Array.from({ length: 300 }, (_, n) => click(`n${n}`, `2026-11-${10 + (n % 5)}`))
    const batches = Array.from({ length: 24 }, (_, n) =>
      [...events.slice(n * 10), ...events.slice(0, n * 10)].reverse(),
    )
    const results = await Promise.all(
      batches.map((batch, n) => storeEvents(pools[n % 2] as Database, vendorId, batch)),
    )
    const accepted = results.reduce((sum, result) => sum + result.accepted, 0)
    assert.equal(accepted, 300)
    assert.deepEqual(await storedDays(owner, vendorId), await recount(owner, vendorId))
  })

  // Around the change of clocks in each of these zones, so that days of 23 and 25 hours are among them.
  const scenes = [
    { timezone: 'Europe/Berlin', around: '2026-10-25T01:00:00Z' },
    { timezone: 'Europe/Berlin', around: '2026-03-29T01:00:00Z' },
    { timezone: 'America/Havana', around: '2026-11-01T05:00:00Z' },
    { timezone: 'Africa/Cairo', around: '2026-04-23T22:00:00Z' },
    { timezone: 'Asia/Kathmandu', around: '2026-11-20T18:15:00Z' },
  ]
  const anEvent = fc.record({
    id: fc.integer({ min: 0, max: 25 }).map((n) => `id-${n}`),
    type: fc.constantFrom<AnalyticsEventType>('impression', 'click', 'order', 'boost_spend'),
    offset_ms: fc.integer({ min: -48 * HOUR_MS, max: 48 * HOUR_MS }),
    quantity: fc.integer({ min: 1, max: 9 }),
    amountMinor: fc.integer({ min: 0, max: 1_000 }),
  })
  const aCall = fc.record({
    events: fc.array(anEvent, { minLength: 1, maxLength: 30 }),
    pool: fc.constantFrom(0, 1),
    fate: fc.constantFrom('answered', 'answered', 'killed', 'answer lost'),
  })

  it('never drifts: the days equal a recount after any interleaving of writers, repeats and crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...scenes),
        fc.array(aCall, { minLength: 1, maxLength: 8 }),
        async ({ timezone, around }, calls) => {
          const vendorId = await company(timezone)
          const dateOf = createDateFinder(timezone)
          const prepared = calls.map(({ events, pool, fate }) => ({
            db: pools[pool] as Database,
            fate,
            events: events.map(({ id, type, offset_ms, quantity, amountMinor }): AnalyticsEvent => {
              const occurredAt_ms = Date.parse(around) + offset_ms
              return {
                eventId: id,
                type,
                occurredAt_ms,
                date: dateOf(occurredAt_ms),
                quantity: type === 'boost_spend' ? null : quantity,
                amountMinor: type === 'order' || type === 'boost_spend' ? amountMinor : null,
              }
            }),
          }))

          const doomed = prepared.filter(({ fate }) => fate === 'killed')
          const gate = await owner.transaction()
          await gate.raw('lock table analytics_daily in exclusive mode')
          const deaths = doomed.map(({ db, events }) => assert.rejects(storeEvents(db, vendorId, events)))
          if (doomed.length > 0) {
            // They meet each other's ids, so only the first of them may have come as far as the days.
            await untilBlocked(owner, doomed.length)
            await endBlocked(owner)
          }
          await Promise.all(deaths)
          await gate.rollback()
          assert.deepEqual(await storedDays(owner, vendorId), [], 'a killed call left something')

          const accepted: number[] = []
          await Promise.all(
            prepared.map(async ({ db, fate, events }) => {
              accepted.push((await repeated(db, vendorId, events)).accepted)
              if (fate === 'answer lost') accepted.push((await repeated(db, vendorId, events)).accepted)
            }),
          )
          const ids = new Set(prepared.flatMap(({ events }) => events).map((event) => event.eventId))
          const counted = accepted.reduce((sum, n) => sum + n, 0)
          assert.equal(counted, ids.size)
          assert.deepEqual(await storedDays(owner, vendorId), await recount(owner, vendorId))
          const { rows } = await owner.raw(
            `select count(*)::int as events, count(distinct event_id)::int as ids,
               (select count(*)::int from analytics_event_ids where vendor_id = ?) as remembered
             from analytics_events where vendor_id = ?`,
            [vendorId, vendorId],
          )
          assert.deepEqual(rows[0], { events: ids.size, ids: ids.size, remembered: ids.size })
        },
      ),
      { numRuns: EVERYTHING ? 40 : 15 },
    )
  })
})
