import { goalText, meets } from './goals.ts'
import type { Finding } from './row.ts'

/** Returns the compared figures beside their goals, as Markdown for a terminal too. Bold ones miss theirs. */
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

function markdownTable(header: string[], rows: string[][]): string {
  const widths = header.map((title, i) =>
    Math.max(3, ...[title, ...rows.map((row) => row[i] ?? '')].map(({ length }) => length)),
  )
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}
