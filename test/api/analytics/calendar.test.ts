import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createDateFinder, timezoneName, zoneDayAt } from '../../../apps/api/analytics/calendar.ts'
import { sharedDatabase } from '../../support/database.ts'

const HOUR_MS = 3_600_000
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  // the clocks change at midnight: a day that begins at 01:00, and one whose midnight comes twice
  'America/Santiago',
  'America/Havana',
  'Africa/Cairo',
  'Asia/Beirut',
  // half an hour of summer time, and odd offsets
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Apia',
]

describe("a company's days", () => {
  const database = sharedDatabase()

  it('knows the name of every time zone in any case', async () => {
    const { rows } = await database.owner.raw(
      `select name from pg_timezone_names where name ~ '/' and name !~ '^(posix|right)/' order by name`,
    )
    const names: string[] = rows.map(({ name }: { name: string }) => name)
    assert.ok(names.length > 300, `${names.length}`)
    for (const name of names)
      for (const spelled of [name, name.toLowerCase()]) assert.equal(timezoneName(spelled), name)
  })

  const lengths: [string, string, number][] = [
    ['Europe/Berlin', '2026-03-29', 23],
    ['Europe/Berlin', '2026-10-25', 25],
    ['Australia/Lord_Howe', '2026-10-04', 23.5],
    ['America/Havana', '2026-11-01', 25],
    ['Africa/Cairo', '2026-04-24', 23],
    ['America/Santiago', '2026-09-06', 23],
  ]
  for (const [timezone, date, hours] of lengths)
    it(`gives ${date} ${hours} hours in ${timezone}, and every instant of them to it`, () => {
      const { start_ms, end_ms } = zoneDayAt(timezone, Date.parse(`${date}T06:00:00Z`))
      assert.equal((end_ms - start_ms) / HOUR_MS, hours)
      const dateOf = createDateFinder(timezone)
      for (let t = start_ms; t < end_ms; t += HOUR_MS / 4) assert.equal(dateOf(t), date)
      assert.equal(dateOf(end_ms - 1), date)
      assert.notEqual(dateOf(start_ms - 1), date)
      assert.notEqual(dateOf(end_ms), date)
    })

  it('has no 30 December 2011 on Samoa', () => {
    const { end_ms } = zoneDayAt('Pacific/Apia', Date.parse('2011-12-29T20:00:00Z'))
    const dateOf = createDateFinder('Pacific/Apia')
    assert.deepEqual([dateOf(end_ms - 1), dateOf(end_ms)], ['2011-12-29', '2011-12-31'])
  })

  it('keeps a day in one piece where clocks went back across midnight (St. John’s, 2009)', () => {
    // 00:01 became 23:01 again: an hour of the old date came after the first minute of the new one.
    const timezone = 'America/St_Johns'
    const { end_ms: newDay } = zoneDayAt(timezone, Date.parse('2009-10-31T15:00:00Z'))
    const [inTheFirstMinute, inTheRepeatedHour] = [newDay + 30_000, newDay + 30 * 60_000]
    for (const order of [
      [inTheFirstMinute, inTheRepeatedHour],
      [inTheRepeatedHour, inTheFirstMinute],
    ]) {
      const dateOf = createDateFinder(timezone)
      assert.deepEqual(order.map(dateOf), ['2009-11-01', '2009-11-01'])
      assert.equal(dateOf(newDay - 1), '2009-10-31')
    }
    assert.deepEqual(zoneDayAt(timezone, inTheRepeatedHour), zoneDayAt(timezone, inTheFirstMinute))
  })

  it('agrees with Postgres on the day of any instant, and says when that day begins and ends', async () => {
    const instant = fc.integer({ min: Date.parse('2012-01-01Z'), max: Date.parse('2027-01-01Z') })
    const instants = fc.array(instant, { maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...ZONES), instants, async (zone, times) => {
        const { rows } = await database.owner.raw(
          `select ((timestamptz 'epoch' + ms * interval '1 millisecond') at time zone ?)::date::text as date
           from unnest(?::bigint[]) with ordinality as t (ms, n) order by n`,
          [zone, times],
        )
        const dates = rows.map((row: { date: string }) => row.date)
        assert.deepEqual(times.map(createDateFinder(zone)), dates)
        for (const time of times) {
          const { start_ms, end_ms } = zoneDayAt(zone, time)
          assert.ok(start_ms <= time && time < end_ms)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('finds a day again as it found it first, however many it has met', () => {
    const dateOf = createDateFinder('Europe/Berlin')
    const first = Date.parse('1990-01-01T00:00:00Z')
    for (let day = 0; day < 6_000; day++) dateOf(first + day * 24 * HOUR_MS)
    assert.equal(dateOf(Date.parse('2026-03-29T21:59:59.999Z')), '2026-03-29')
    assert.equal(dateOf(Date.parse('2026-03-29T22:00:00Z')), '2026-03-30')
  })
})
