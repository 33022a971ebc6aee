import { strict as assert } from 'node:assert'
import { dailyCsv } from '../../apps/workspace/src/analytics/format.ts'
import type { DailyAnalytics } from '../../apps/workspace/src/api/contract.ts'
import { csvCell } from '../../apps/workspace/src/ui/download.ts'

describe('workspace: a CSV cell', () => {
  for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '＝1', '\t=1', '\r=1']) {
    it(`disarms the formula ${JSON.stringify(formula)}`, () => {
      assert.match(csvCell(formula), /^"?'/)
    })
  }
  it('disarms a formula where a spreadsheet may begin another cell', () => {
    assert.equal(csvCell('a;=1+1'), "a;'=1+1")
    assert.equal(csvCell('a\n=1+1'), '"a\n\'=1+1"')
    assert.equal(csvCell('a\r=1+1'), '"a\r\'=1+1"')
    assert.equal(csvCell('a;"=1+1'), '"a;\'""=1+1"')
    assert.equal(csvCell('; =1+1'), ";' =1+1")
  })
  it('leaves text without a formula unchanged', () => assert.equal(csvCell('a=1; b-2'), 'a=1; b-2'))
  it('quotes a CSV cell with commas, quotes or line ends of any kind', () => {
    assert.equal(csvCell('a,"b"\n'), '"a,""b""\n"')
    assert.equal(csvCell('a\rb'), '"a\rb"')
  })
  it('leaves numbers unquoted, and absent figures empty', () => {
    assert.equal(csvCell(-12), '-12')
    assert.equal(csvCell(null), '')
  })

  it('leaves the figures of a day without a report empty, and writes 0 only if 0 was reported', () => {
    const none = { impressions: null, clicks: null, orders: null, unitsSold: null }
    const days = [
      { date: '2026-11-21', status: 'missing', ...none, revenueMinor: null, boostSpendMinor: null },
      { date: '2026-11-22', status: 'final', ...none, clicks: 0, revenueMinor: 1999, boostSpendMinor: 0 },
    ]
    const [, missing, reported] = dailyCsv({ days, currency: 'EUR' } as DailyAnalytics).split('\r\n')
    assert.equal(missing, '2026-11-21,missing,EUR,,,,,,')
    assert.equal(reported, '2026-11-22,final,EUR,,0,,,1999,0')
  })
})
