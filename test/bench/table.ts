import { goalText, meets } from './goals.ts'
import { type Finding, judged, type LoadFigures, type Measurement, type Unit } from './row.ts'
import type { Spread } from './statistics.ts'

/** What was found, beside the goals, as a Markdown table that also reads well in a terminal. */
export function findingsTable(rows: readonly Measurement[]): string {
  const header = ['what', 'beside', 'measured', 'by CPU second', 'goal', '']
  return table(
    header,
    rows.flatMap(({ findings }) => findings.map(findingCells)),
  )
}

/** The loads behind it. */
export function loadsTable(rows: readonly Measurement[]): string {
  const header = ['load', 'requests/s', 'a CPU second', 'cores', 'p50 ms', 'p99 ms']
  return table(
    header,
    rows.flatMap(({ loads }) => loads.map(loadCells)),
  )
}

function findingCells(finding: Finding): string[] {
  const { what, beside = '', value, unit, goal, perCpuSecond } = finding
  const verdict = goal ? (meets(goal, judged(finding)) ? 'met' : 'missed') : ''
  const byCpu = perCpuSecond ? spreadText(perCpuSecond, 'ratio') : ''
  return [what, beside, spreadText(value, unit), byCpu, goal ? goalText(goal) : '', verdict]
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
