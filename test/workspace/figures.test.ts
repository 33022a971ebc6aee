import { strict as assert } from 'node:assert'
import { changeText, metricShort, metricText } from '../../apps/workspace/src/analytics/format.ts'
import { chosenRange, RANGE, rangeError } from '../../apps/workspace/src/analytics/range.ts'
import type { DailyAnalytics, Day } from '../../apps/workspace/src/api/contract.ts'
import { readSearch } from '../../apps/workspace/src/ui/search.ts'

describe('workspace: the figures of Analytics', () => {
  it('shows money with as many decimals as its currency has', () => {
    const dinars = metricText('revenueMinor', 123_456_789, 'KWD').replaceAll('\u00a0', ' ')
    assert.equal(dinars, 'KWD 123,456.789')
    assert.equal(metricShort('revenueMinor', 123_456_789, 'KWD'), '123.5K')
  })

  for (const [from, to, error] of [
    ['2025-11-22', '2026-11-22', undefined],
    ['2025-11-21', '2026-11-22', 'At most 366 days.'],
    ['2026-11-22', '2026-11-23', 'The range cannot end after today.'],
    ['2026-11-22', '2026-11-21', 'The first day must not be after the last.'],
    ['', '2026-11-21', 'Choose both days.'],
    ['2025-11-31', '2026-11-22', 'Choose both days.'],
    ['2024-02-29', '2024-02-29', undefined],
  ] as const)
    it(`${error ? 'refuses' : 'accepts'} the range from ${from || 'nowhere'} to ${to}`, () => {
      assert.equal(rangeError({ from, to }, '2026-11-22'), error)
    })

  it('takes no range from an address with a day that does not exist', () => {
    const chosen = (from: string) =>
      chosenRange(readSearch(new URLSearchParams({ from, to: '2026-12-05' }), RANGE))
    assert.deepEqual(chosen('2026-11-30'), { from: '2026-11-30', to: '2026-12-05' })
    assert.equal(chosen('2026-11-31'), 30)
  })

  it('compares with the period before only if both have reports and that one is not zero', () => {
    const period = (clicks: number, status: Day['status'] = 'final') =>
      ({ days: [{ status }], totals: { clicks } }) as DailyAnalytics
    const change = (now: DailyAnalytics, before: DailyAnalytics) => changeText('clicks', now, before)
    assert.equal(change(period(112), period(100)), '+12%')
    assert.equal(change(period(0), period(100)), '-100%')
    assert.equal(change(period(0, 'missing'), period(100)), '–')
    assert.equal(change(period(100), period(100, 'missing')), '–')
    assert.equal(change(period(100), period(0)), '–')
  })
})
