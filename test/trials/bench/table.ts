import { markdownTable } from '../table.ts'
import { goalText, meets } from './goals.ts'
import type { Measured, Sample } from './measure.ts'
import type { Finding } from './row.ts'
import { spread } from './statistics.ts'

/**
 * Returns the findings beside their goals: a Markdown table that also reads well in a terminal. Each figure
 * is the one that is compared with the goal. One in bold misses it.
 */
export const findingsTable = (rows: readonly { findings: Finding[] }[]): string =>
  markdownTable(
    ['what', 'beside', 'figure', 'goal'],
    rows
      .flatMap(({ findings }) => findings)
      .map((finding) => {
        const { what, beside = '', goal } = finding
        return [what, beside, figureText(finding), goalText(goal)]
      }),
  )

/** The median, and in brackets the least and the most when they are not the same. */
function figureText({ value, perCpuSecond = value, unit, goal }: Finding): string {
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
