import assert from 'node:assert/strict'
import { drawChart } from './chart.ts'
import { goalText, meets } from './goals.ts'
import { readOptions } from './options.ts'
import { spread } from './statistics.ts'
import { findingsTable } from './table.ts'

describe('the figures of the bench', () => {
  it('are medians with the least and the most', () => {
    assert.deepEqual(spread([9, 1, 10]), { median: 9, min: 1, max: 10 })
    assert.deepEqual(spread([4, 1, 2, 10]), { median: 3, min: 1, max: 10 })
  })

  it('are judged by both bounds of a goal', () => {
    const goal = { least: 0.9, most: 1.1 }
    assert.deepEqual(
      [0.89, 0.9, 1.1, 1.11].map((value) => meets(goal, value)),
      [false, true, true, false],
    )
    assert.equal(goalText(goal), '0.9 to 1.1')
    assert.equal(goalText({ most: 6 }), '≤ 6')
    assert.equal(goalText({ least: 0.33, moonshot: 0.45 }), '≥ 0.33, moonshot 0.45')
  })

  it('stand in a table that says what was missed', () => {
    const value = { median: 0.325, min: 0.3, max: 0.35 }
    const lines = findingsTable([
      {
        findings: [{ what: 'ours', beside: 'floor', value, unit: 'ratio', goal: { least: 0.33 } }],
        loads: [],
      },
    ]).split('\n')
    const cells = lines[2]?.split('|').map((cell) => cell.trim())
    assert.deepEqual(cells, ['', 'ours', 'floor', '0.33 (0.30–0.35)', '', '≥ 0.33', 'missed', ''])
    assert.equal(new Set(lines.map(({ length }) => length)).size, 1)
  })

  it('are told in words by the chart, and are no markup there', () => {
    const bar = { label: 'a < b', beside: '"c" & d', ratio: 0.5, goal: { least: 1 }, met: false }
    const chart = drawChart('Ratios', [bar])
    assert.match(chart, /a &lt; b, beside &quot;c&quot; &amp; d: 0\.50, goal ≥ 1, missed\./)
    assert.doesNotMatch(chart, /<script|a < b/)
    // A quarter of its scale, which ends at twice the goal.
    assert.match(chart, /class="missed" [^>]*width="82\.5"/)
  })
})

describe('the options of the bench', () => {
  it('name what is wrong', () => {
    assert.throws(() => readOptions(['--rounds', '0'], {}), /--rounds must be a whole number from 1/)
    assert.throws(() => readOptions(['--fast'], {}), /--fast/)
  })

  it('take the client of another endpoint from the environment only', () => {
    const args = ['--token-url', 'http://127.0.0.1/token']
    assert.throws(() => readOptions(args, {}), /BENCH_CLIENT_ID and BENCH_CLIENT_SECRET/)
    const { external } = readOptions(args, { BENCH_CLIENT_ID: 'id', BENCH_CLIENT_SECRET: 'secret' })
    assert.equal(external?.clientSecret, 'secret')
    assert.throws(() => readOptions([...args, '--client-secret', 'x'], {}), /--client-secret/)
  })
})
