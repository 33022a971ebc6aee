import type { Finding } from './row.ts'

/** Returns the figures beside their goals, as Markdown for a terminal too. Bold ones miss theirs. */
export function findingsTable(findings: readonly Finding[]): string {
  const rows = findings.map((finding) => {
    const { what, beside = '', goal } = finding
    return [what, beside, figureText(finding), 'least' in goal ? `≥ ${goal.least}` : `≤ ${goal.most}`]
  })
  const header = ['what', 'beside', 'figure', 'goal']
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The median, and in brackets the least and the most when they are not the same. */
function figureText({ value, unit, goal }: Finding): string {
  const { median, min, max } = value
  const isMet = 'least' in goal ? median >= goal.least : median <= goal.most
  const [middle = '', from, to] = [median, min, max].map((number) => number.toFixed(unit === 'MiB' ? 0 : 2))
  const figure = isMet ? middle : `**${middle}**`
  const text = from === to ? figure : `${figure} (${from}–${to})`
  return unit === 'ratio' ? text : `${text} ${unit}`
}
