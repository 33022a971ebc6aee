import { goalText, meets } from './goals.ts'
import { type Finding, judged, type LoadFigures, type Measurement, type Unit } from './row.ts'
import type { Spread } from './statistics.ts'

const HEADER = ['what', 'beside', 'measured', 'by CPU second', 'goal']

/** What was found, beside the goals, as a Markdown table that also reads well in a terminal. */
export function findingsTable(rows: readonly Measurement[]): string {
  const findings = rows.flatMap(({ findings }) => findings)
  return table(
    [...HEADER, ''],
    findings.map((finding) => [...findingCells(finding), verdict(finding)]),
  )
}

/** The same in two tables with headings: the goals that hold (and what has no goal), and the targets. */
export function goalTables(rows: readonly Measurement[]): string {
  const findings = rows.flatMap(({ findings }) => findings)
  const isTarget = (finding: Finding) => verdict(finding) === 'missed'
  const held = table(HEADER, findings.filter((finding) => !isTarget(finding)).map(findingCells))
  const targets = table([...HEADER.slice(0, -1), 'target'], findings.filter(isTarget).map(findingCells))
  return `### Goals that hold\n\n${held}\n\n### Targets, not reached yet\n\n${targets}\n\n### The loads behind them`
}

function verdict(finding: Finding): string {
  if (!finding.goal) return ''
  return meets(finding.goal, judged(finding)) ? 'met' : 'missed'
}

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
