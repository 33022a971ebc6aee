import { type Goal, goalText, meets } from './goals.ts'
import { type Finding, judged, type LoadFigures, type Measurement, type Unit } from './row.ts'
import type { Spread } from './statistics.ts'

/** What was found, beside the goals, as a Markdown table that also reads well in a terminal. */
export function findingsTable(rows: readonly Measurement[]): string {
  const findings = rows.flatMap(({ findings }) => findings)
  return table(
    ['what', 'beside', 'measured', 'by CPU second', 'goal', ''],
    findings.map((finding) => [...findingCells(finding), verdict(finding)]),
  )
}

/** What was measured on one machine. */
export interface OnMachine {
  /** The model of its CPU. */
  cpu: string
  rows: readonly Measurement[]
}

/**
 * The same of several machines side by side, in tables with headings: the goals that hold on each, the targets, and
 * what has no goal. Each figure is the one that is judged; one in bold misses the goal. The first machine's goals count.
 */
export function goalTables(machines: readonly OnMachine[]): string {
  const all = new Map<string, { finding: Finding; goal: Goal | undefined; by: (Finding | undefined)[] }>()
  machines.forEach(({ rows }, machine) => {
    for (const finding of rows.flatMap(({ findings }) => findings)) {
      const key = `${finding.what} beside ${finding.beside}`
      const line = all.get(key) ?? { finding, goal: finding.goal, by: [] }
      line.by[machine] = finding
      all.set(key, line)
    }
  })
  const lines = [...all.values()].map(({ finding: { what, beside = '' }, goal, by }) => {
    const figures = machines.map((_, machine) => by[machine])
    const isMissed = figures.some((figure) => figure && misses(figure, goal))
    const cells = [what, beside, ...figures.map((figure) => (figure ? judgedText(figure, goal) : ''))]
    return goal
      ? { kind: isMissed ? 'target' : 'goal', cells: [...cells, goalText(goal)] }
      : { kind: 'none', cells }
  })
  const tableOf = (kind: string, ...last: string[]) =>
    table(
      ['what', 'beside', ...machines.map(({ cpu }) => cpu), ...last],
      lines.filter((line) => line.kind === kind).map(({ cells }) => cells),
    )
  return [
    `### Goals that hold\n\n${tableOf('goal', 'goal')}`,
    `### Targets, not reached yet\n\n${tableOf('target', 'target')}`,
    `### Figures without a goal\n\n${tableOf('none')}`,
  ].join('\n\n')
}

function judgedText(finding: Finding, goal: Goal | undefined): string {
  const { value, perCpuSecond = value, unit } = finding
  const text = spreadText(perCpuSecond, unit)
  return misses(finding, goal) ? text.replace(/^\S+/, '**$&**') : text
}

const misses = (finding: Finding, goal: Goal | undefined): boolean =>
  goal !== undefined && !meets(goal, judged(finding))

const verdict = (finding: Finding): string =>
  finding.goal ? (misses(finding, finding.goal) ? 'missed' : 'met') : ''

/** The loads behind it. */
export function loadsTable(rows: readonly Measurement[]): string {
  const header = ['load', 'requests/s', 'a CPU second', 'cores', 'p50 ms', 'p99 ms']
  return table(
    header,
    rows.flatMap(({ loads }) => loads.map(loadCells)),
  )
}

function findingCells({ what, beside = '', value, unit, goal, perCpuSecond }: Finding): string[] {
  const byCpu = perCpuSecond ? spreadText(perCpuSecond, 'ratio') : ''
  return [what, beside, spreadText(value, unit), byCpu, goal ? goalText(goal) : '']
}

function loadCells({ name, perSecond, perCpuSecond, cores, p50_ms, p99_ms }: LoadFigures): string[] {
  return [
    name,
    `${whole(perSecond.median)} (${whole(perSecond.min)}–${whole(perSecond.max)})`,
    perCpuSecond ? whole(perCpuSecond.median) : '',
    cores ? cores.median.toFixed(2) : '',
    p50_ms.median.toFixed(2),
    p99_ms.median.toFixed(2),
  ]
}

/** The median, and in brackets the least and the most when they are not the same. */
function spreadText({ median, min, max }: Spread, unit: Unit): string {
  const digits = unit === 'MiB' ? 0 : 2
  const [middle, from, to] = [median, min, max].map((value) => value.toFixed(digits))
  const text = from === to ? `${middle}` : `${middle} (${from}–${to})`
  return unit === 'ratio' ? text : `${text} ${unit}`
}

const whole = (value: number): string => Math.round(value).toLocaleString('en')

function table(header: string[], rows: string[][]): string {
  const widths = header.map((title, i) =>
    Math.max(3, ...[title, ...rows.map((row) => row[i] ?? '')].map(({ length }) => length)),
  )
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
