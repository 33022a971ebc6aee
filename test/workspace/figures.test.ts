import { strict as assert } from 'node:assert'
import { metricShort, metricText } from '../../apps/workspace/src/analytics/format.ts'
import { todayIn } from '../../apps/workspace/src/analytics/range.ts'

describe('workspace: the figures of Analytics', () => {
  for (const [currency, text, short] of [
    ['EUR', '€1,234,567.89', '1.2M'],
    ['JPY', '¥123,456,789', '123.5M'],
    ['KWD', 'KWD 123,456.789', '123.5K'],
  ] as const) {
    it(`shows money with as many decimals as ${currency} has`, () => {
      assert.equal(metricText('revenueMinor', 123_456_789, currency).replaceAll('\u00a0', ' '), text)
      assert.equal(metricShort('revenueMinor', 123_456_789, currency), short)
    })
  }

  it('shows a count without a currency', () => {
    assert.equal(metricText('impressions', 1_234, 'JPY'), '1,234')
    assert.equal(metricShort('impressions', 1_234, 'JPY'), '1.2K')
  })

  it('takes the date of today from the time zone of the company', () => {
    const now = new Date('2026-11-22T23:30:00Z')
    assert.equal(todayIn('Pacific/Auckland', now), '2026-11-23')
    assert.equal(todayIn('UTC', now), '2026-11-22')
    assert.equal(todayIn('Pacific/Honolulu', new Date('2026-11-22T09:30:00Z')), '2026-11-21')
  })
})
