import { strict as assert } from 'node:assert'
import { zoneDayAt } from '../../apps/api/analytics/calendar.ts'
import { midnight } from '../../apps/workspace/src/api/midnight.ts'
import { ApiProblem, retryIn } from '../../apps/workspace/src/api/request.ts'
import { BROWSER_CLOCK, bothClocks, createClock, duration } from '../../apps/workspace/src/api/time.ts'

const NOW = new Date('2026-11-22T12:00:00Z')
const at = (seconds: number) => BROWSER_CLOCK.relative(new Date(NOW.getTime() + seconds * 1_000), NOW)

describe('workspace: times in words', () => {
  it('rounds an age down', () => {
    assert.deepEqual([at(-119), at(-7_199), at(-59)], ['1 minute ago', '1 hour ago', 'just now'])
  })

  it('means the days of the company’s calendar', () => {
    const { relative } = createClock('Europe/Berlin')
    const now = new Date('2026-11-24T02:40:00Z')
    const dayBefore = (utc: string) => relative(new Date(utc), now)
    assert.equal(dayBefore('2026-11-22T20:07:00Z'), '2 days ago')
    assert.equal(dayBefore('2026-11-22T23:01:00Z'), 'yesterday')
    assert.equal(dayBefore('2026-11-25T23:01:00Z'), 'in 2 days')
  })

  it('rounds a time to come to the nearest', () => {
    assert.deepEqual([at(2 * 86_400 - 60), at(90 * 60 - 60)], ['in 2 days', 'in 1 hour'])
  })

  it('counts days up to two months, and months up to two years', () => {
    assert.equal(at(-40 * 86_400), '40 days ago')
    assert.equal(at(-700 * 86_400), '23 months ago')
    assert.equal(at(-731 * 86_400), '2 years ago')
  })

  it('rounds a duration down', () => {
    assert.equal(duration(119), '1 minute')
    assert.equal(duration(59.9), '59 seconds')
    assert.equal(duration(2 * 86_400 - 1), '47 hours')
    assert.equal(duration(3 * 86_400 - 1), '2 days')
  })

  it('never says to try again too early', () => {
    const limited = (seconds?: number) => {
      const headers = seconds === undefined ? {} : { 'retry-after': String(seconds) }
      return retryIn(new ApiProblem(new Response(null, { status: 429, headers }), {}))
    }
    assert.equal(limited(45), 'in 45 seconds')
    for (const seconds of [61, 120]) assert.equal(limited(seconds), 'in about 2 minutes')
    assert.equal(limited(3_601), 'in about 2 hours')
    assert.equal(limited(), 'in a while')
  })
})

describe('workspace: times of a company', () => {
  it('writes times as the clocks of the company show them', () => {
    const now = new Date('2026-11-22T23:30:00Z')
    for (const [timezone, date, clock] of [
      ['Pacific/Auckland', '2026-11-23', '12:30'],
      ['Pacific/Honolulu', '2026-11-22', '13:30'],
      ['Asia/Kathmandu', '2026-11-23', '05:15'],
    ] as const) {
      const { isoDate, time, zone } = createClock(timezone)
      assert.deepEqual([isoDate(now), time(now), zone], [date, clock, timezone])
    }
    const { weekdayTime } = createClock('Europe/Berlin')
    assert.equal(weekdayTime(new Date('2026-11-21T23:30:00Z')), 'Sun, 22 Nov 2026, 00:30')
  })

  it('adds the clock of the browser only where it differs', () => {
    const at = new Date('2026-11-22T12:00:00Z')
    const own = bothClocks(at, BROWSER_CLOCK)
    assert.doesNotMatch(own, /your time/)
    const elsewhere = createClock(BROWSER_CLOCK.zone === 'Asia/Kathmandu' ? 'UTC' : 'Asia/Kathmandu')
    assert.ok(bothClocks(at, elsewhere).endsWith(` (${own} your time)`))
  })

  it('keeps the clock of the browser where it does not know the zone of the company', () => {
    assert.equal(createClock('Mars/Olympus'), BROWSER_CLOCK)
  })

  const ZONES = 'Europe/Berlin America/Havana Africa/Cairo Atlantic/Azores Australia/Lord_Howe Pacific/Apia'
  for (const timezone of ZONES.split(' ')) {
    it(`begins each day when the service does, in ${timezone}`, () => {
      let { end_ms } = zoneDayAt(timezone, Date.parse('2016-01-01T12:00Z'))
      while (end_ms < Date.parse('2028-01-01')) {
        const day = zoneDayAt(timezone, end_ms)
        assert.equal(midnight(day.date, timezone).getTime(), day.start_ms, day.date)
        end_ms = day.end_ms
      }
    })
  }
})
