import assert from 'node:assert/strict'
import { goalText, meets } from '../trials/bench/goals.ts'
import { readOptions } from '../trials/bench/options.ts'
import { businessText, quietRounds } from '../trials/bench/quiet.ts'
import { spread } from '../trials/bench/statistics.ts'
import { findingsTable } from '../trials/bench/table.ts'

describe('the figures of the bench', () => {
  it('shows medians with the least and the most', () => {
    assert.deepEqual(spread([9, 1, 10]), { median: 9, min: 1, max: 10 })
    assert.deepEqual(spread([4, 1, 2, 10]), { median: 3, min: 1, max: 10 })
  })

  it('judges a figure by its goal', () => {
    assert.deepEqual([meets({ least: 0.9 }, 0.89), meets({ least: 0.9 }, 0.9)], [false, true])
    assert.deepEqual([meets({ most: 1.1 }, 1.1), meets({ most: 1.1 }, 1.11)], [true, false])
    assert.deepEqual([goalText({ most: 6 }), goalText({ least: 0.33 })], ['≤ 6', '≥ 0.33'])
  })

  const finding = (what: string, figure: number, least: number) => ({
    what,
    beside: 'floor',
    value: spread([figure - 0.025, figure, figure + 0.025]),
    unit: 'ratio' as const,
    goal: { least },
  })
  const splitCells = (line: string) => line.split('|').map((cell) => cell.trim())

  it('prints a table of figures that names missed goals', () => {
    const lines = findingsTable([
      { findings: [finding('ours', 0.325, 0.33), finding('met', 0.5, 0.4)] },
    ]).split('\n')
    assert.deepEqual(lines.filter((_, i) => i !== 1).map(splitCells), [
      ['', 'what', 'beside', 'figure', 'goal', ''],
      ['', 'ours', 'floor', '**0.33** (0.30–0.35)', '≥ 0.33', ''],
      ['', 'met', 'floor', '0.50 (0.47–0.53)', '≥ 0.4', ''],
    ])
    assert.equal(new Set(lines.map(({ length }) => length)).size, 1)
  })

  it('judges a figure by CPU time where it is known', () => {
    const byCpu = { ...finding('ours', 0.1, 0.7), perCpuSecond: spread([0.8]) }
    assert.match(findingsTable([{ findings: [byCpu] }]), /\| 0\.80 +\|/)
  })
})

describe('the options of the bench', () => {
  it('names invalid options', () => {
    assert.throws(() => readOptions(['--rounds', '0']), /--rounds must be a whole number from 1/)
    assert.throws(() => readOptions(['--fast']), /--fast/)
  })
})

describe('the rounds of the bench', () => {
  const buildRounds = (...busy: number[]) => {
    const left = busy.values()
    return async (attempt: number) => ({ others: left.next().value ?? 1, samples: attempt })
  }

  it('repeats rounds when others kept the core busy', async () => {
    const { rounds, business } = await quietRounds(2, buildRounds(0.01, 0.06, 0.03))
    assert.deepEqual(
      rounds.map(({ samples }) => samples),
      [1, 3],
    )
    assert.deepEqual(business, { others: { median: 0.02, min: 0.01, max: 0.03 }, repeated: 1, busy: 0 })
  })

  it('keeps the quietest of three times as many rounds where the machine is never quiet', async () => {
    const { rounds, business } = await quietRounds(2, buildRounds(0.9, 0.2, 0.8, 0.04, 0.7, 0.6, 0.01))
    assert.deepEqual(
      rounds.map(({ others }) => others),
      [0.2, 0.04],
    )
    assert.deepEqual([business.repeated, business.busy], [4, 1])
    assert.match(businessText([{ business: [business] }]), /20 % at most.*1 rounds count although others did/)
  })
})
