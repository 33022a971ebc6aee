import { markdownTable } from '../table.ts'
import { type Goal, goalText, meets } from './goals.ts'
import type { Measured, Sample } from './measure.ts'
import { type Finding, judged, type Measurement, type Unit } from './row.ts'
import { type Spread, spread } from './statistics.ts'

/** What was measured on one machine. */
export interface OnMachine {
  /** The model of its CPU. */
  cpu: string
  rows: readonly Pick<Measurement, 'findings'>[]
}

/**
 * What was found, beside the goals: a Markdown table that also reads well in a terminal, with a column for each machine.
 * Each figure is the one that is judged; one in bold misses the goal.
 */
export function findingsTable(machines: readonly OnMachine[]): string {
  const lines = new Map<string, { finding: Finding; byMachine: (Finding | undefined)[] }>()
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
      ...machines.map((_, machine) => judgedText(byMachine[machine], goal)),
      goalText(goal),
    ]),
  )
}

function judgedText(finding: Finding | undefined, goal: Goal): string {
  if (!finding) return ''
  const { value, perCpuSecond = value, unit } = finding
  const text = spreadText(perCpuSecond, unit)
  return meets(goal, judged(finding)) ? text : text.replace(/^\S+/, '**$&**')
}

/** The loads behind it. */
export function loadsTable(loads: readonly Measured[]): string {
  const header = ['load', 'requests/s', 'a CPU second', 'cores', 'p50 ms', 'p99 ms']
  return markdownTable(header, loads.map(loadCells))
}

function loadCells({ subject, samples }: Measured): string[] {
  const of = (pick: (sample: Sample) => number) => spread(samples.map(pick))
  const perSecond = of((sample) => sample.perSecond)
  return [
    subject.name,
    `${whole(perSecond.median)} (${whole(perSecond.min)}–${whole(perSecond.max)})`,
    whole(of((sample) => sample.perCpuSecond).median),
    of((sample) => sample.cores).median.toFixed(2),
    of((sample) => sample.p50_ms).median.toFixed(2),
    of((sample) => sample.p99_ms).median.toFixed(2),
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
