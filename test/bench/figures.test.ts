import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drawChart } from '../trials/bench/chart.ts'
import { goalText, meets } from '../trials/bench/goals.ts'
import { readOptions } from '../trials/bench/options.ts'
import { businessText, quietRounds } from '../trials/bench/quiet.ts'
import { spread } from '../trials/bench/statistics.ts'
import { findingsTable, goalTables } from '../trials/bench/table.ts'
import { quantile } from '../trials/bench/tail.ts'

describe('the figures of the bench', () => {
  it('shows medians with the least and the most', () => {
    assert.deepEqual(spread([9, 1, 10]), { median: 9, min: 1, max: 10 })
    assert.deepEqual(spread([4, 1, 2, 10]), { median: 3, min: 1, max: 10 })
  })

  it('judges a figure by both bounds of a goal', () => {
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

  it('are goals in one table when they hold, and targets in another when they do not', () => {
    const finding = (what: string, least?: number) => ({
      what,
      value: spread([0.5]),
      unit: 'ratio' as const,
      ...(least !== undefined && { goal: { least } }),
    })
    const findings = [finding('holds', 0.4), finding('no goal'), finding('to reach', 0.6)]
    const tables = goalTables([{ cpu: 'one', rows: [{ findings, loads: [] }] }])
    const [held = '', targets = '', rest = ''] = tables.split('\n\n###')
    assert.match(held, /^\| holds .*\| 0\.50 +\| ≥ 0\.4 +\|$/m)
    assert.match(targets, /^\| to reach .*\| \*\*0\.50\*\* +\| ≥ 0\.6 +\|$/m)
    assert.match(rest, /^\| no goal +\|.*\| 0\.50 +\|$/m)
    assert.deepEqual(
      [held, targets, rest].map((table) => table.split('\n').length),
      [5, 5, 5],
    )
  })

  it('stand side by side for each machine, and are a target until every machine reaches it', () => {
    const finding = (what: string, figure: number, least: number) => ({
      what,
      value: spread([9]),
      perCpuSecond: spread([figure]),
      unit: 'ratio' as const,
      goal: { least },
    })
    const on = (cpu: string, ...findings: ReturnType<typeof finding>[]) => ({
      cpu,
      rows: [{ findings, loads: [] }],
    })
    const tables = goalTables([
      on('new', finding('one', 0.8, 0.75), finding('both', 0.9, 0.75)),
      // Judged by the goal of the first.
      on('old', finding('both', 0.8, 0.95), finding('one', 0.5, 0.1), finding('gone', 0.3, 0.1)),
    ])
    const cells = (what: string) =>
      new RegExp(`^\\| ${what} .*$`, 'm')
        .exec(tables)?.[0]
        .split('|')
        .map((cell) => cell.trim())
        .slice(3, -1)
    assert.deepEqual(cells('what'), ['new', 'old', 'goal'])
    assert.deepEqual(cells('both'), ['0.90', '0.80', '≥ 0.75'])
    assert.deepEqual(cells('one'), ['0.80', '**0.50**', '≥ 0.75'])
    assert.deepEqual(cells('gone'), ['', '0.30', '≥ 0.1'])
    assert.match(tables.split('### Targets')[1] ?? '', /^\| one /m)
  })

  it('reads the quantile of what was counted between two scrapes, within its bucket', () => {
    const scrape = (...counts: number[]) =>
      ['0.1', '0.5', '+Inf'].map((le, i) => `wait_bucket{le="${le}",store="a"} ${counts[i]}`).join('\n')
    const other = '\nwait_bucket{le="0.1",store="b"} 70\nwait_bucket{le="+Inf",store="b"} 70'
    const between = (before: string, after: string) =>
      quantile(0.9, before + other, after + other, 'wait store="a"')
    assert.equal(between(scrape(100, 100, 100), scrape(150, 200, 200)).toFixed(2), '0.42')
    assert.equal(between(scrape(0, 0, 0), scrape(10, 10, 10)), 0.09)
    assert.equal(between(scrape(0, 0, 0), scrape(1, 2, 10)), 0.5)
  })

  it('judges a figure by CPU where it is known', () => {
    const finding = {
      what: 'ours',
      value: spread([0.1]),
      unit: 'ratio' as const,
      perCpuSecond: spread([0.8]),
    }
    const table = findingsTable([{ findings: [{ ...finding, goal: { least: 0.7 } }], loads: [] }])
    assert.match(table, /met/)
    assert.doesNotMatch(table, /missed/)
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
  it('names invalid options', async () => {
    await assert.rejects(readOptions(['--rounds', '0']), /--rounds must be a whole number from 1/)
    await assert.rejects(readOptions(['--fast']), /--fast/)
  })

  it('read the descriptions of peers, and name what is wrong in them', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'bench-peers-')), 'peers.json')
    const peer = { name: 'other', note: 'no log', tokenUrl: 'http://127.0.0.1:1/token', body: 'grant_type=x' }
    await writeFile(file, JSON.stringify([peer]))
    const { peers } = await readOptions(['--peers', file])
    assert.deepEqual(peers, [{ ...peer, headers: {}, env: {} }])
    await writeFile(file, JSON.stringify([{ ...peer, tokenUrl: 'nowhere', comand: [] }]))
    await assert.rejects(readOptions(['--peers', file]), /tokenUrl[\s\S]*comand|comand[\s\S]*tokenUrl/)
  })
})

describe('the rounds of the bench', () => {
  const roundsOf = (...busy: number[]) => {
    const left = busy.values()
    return async (attempt: number) => ({ others: left.next().value ?? 1, samples: attempt })
  }

  it('repeats rounds when others kept the core busy', async () => {
    const { rounds, business } = await quietRounds(2, roundsOf(0.01, 0.06, 0.03))
    assert.deepEqual(
      rounds.map(({ samples }) => samples),
      [1, 3],
    )
    assert.deepEqual(business, { others: { median: 0.02, min: 0.01, max: 0.03 }, repeated: 1, busy: 0 })
  })

  it('keeps the quietest of three times as many rounds where the machine is never quiet', async () => {
    const { rounds, business } = await quietRounds(2, roundsOf(0.9, 0.2, 0.8, 0.04, 0.7, 0.6, 0.01))
    assert.deepEqual(
      rounds.map(({ others }) => others),
      [0.2, 0.04],
    )
    assert.deepEqual([business.repeated, business.busy], [4, 1])
    assert.match(businessText([{ business: [business] }]), /20 % at most.*1 rounds count although others did/)
  })
})
