import { markdownTable } from '../table.ts'
import { type Goal, goalText, meets } from './goals.ts'
import type { Measured, Sample } from './measure.ts'
import type { Finding } from './row.ts'
import { spread } from './statistics.ts'

/** What was measured on one machine. */
interface OnMachine {
  /** The model of its CPU. */
  cpu: string
  rows: readonly { findings: Finding[] }[]
}

/**
 * Returns the findings beside their goals: a Markdown table that also reads well in a terminal, with a column
 * for each machine. Each figure is the one that is compared with the goal. One in bold misses it.
 */
export function findingsTable(machines: readonly OnMachine[]): string {
  const lines = new Map<string, { finding: Finding; byMachine: Finding[] }>()
  machines.forEach(({ rows }, machine) => {
    for (const finding of rows.flatMap(({ findings }) => findings)) {
      const key = `${finding.what} beside ${finding.beside}`
      const line = lines.get(key) ?? { finding, byMachine: [] }
      line.byMachine[machine] = finding
      lines.set(key, line)
    }
  })
  return markdownTable(
    ['what', 'beside', ...machines.map(({ cpu }) => cpu), 'goal'],
    [...lines.values()].map(({ finding: { what, beside = '', goal }, byMachine }) => [
      what,
      beside,
      ...machines.map((_, machine) => figureText(byMachine[machine], goal)),
      goalText(goal),
    ]),
  )
}

/** The median, and in brackets the least and the most when they are not the same. */
function figureText(finding: Finding | undefined, goal: Goal): string {
  if (!finding) return ''
  const { value, perCpuSecond = value, unit } = finding
  const { median, min, max } = perCpuSecond
  const [middle = '', from, to] = [median, min, max].map((number) => number.toFixed(unit === 'MiB' ? 0 : 2))
  const figure = meets(goal, median) ? middle : `**${middle}**`
  const text = from === to ? figure : `${figure} (${from}–${to})`
  return unit === 'ratio' ? text : `${text} ${unit}`
}

/** The loads behind it. */
export function loadsTable(loads: Measured[]): string {
  const header = ['load', 'requests/s', 'a CPU second', 'cores', 'p50 ms', 'p99 ms']
  return markdownTable(header, loads.map(loadCells))
}

function loadCells({ name, samples }: Measured): string[] {
  const of = (figure: keyof Sample) => spread(samples.map((sample) => sample[figure]))
  const perSecond = of('perSecond')
  return [
    name,
    `${whole(perSecond.median)} (${whole(perSecond.min)}–${whole(perSecond.max)})`,
    whole(of('perCpuSecond').median),
    of('cores').median.toFixed(2),
    of('p50_ms').median.toFixed(2),
    of('p99_ms').median.toFixed(2),
  ]
}

const whole = (value: number): string => Math.round(value).toLocaleString('en')
