import { OPERATIONS } from './recorder.ts'
import type { Row } from './run.ts'

/** A row for each fault, by name, as a Markdown table that also reads well in a terminal. */
export function faultsTable(rows: readonly Row[]): string {
  const header = ['fault', ...OPERATIONS.map((operation) => `${operation} %`), 'slowest revoke', 'recovery']
  const cells = [...rows].sort((a, b) => (a.fault < b.fault ? -1 : 1)).map(rowCells)
  const widths = header.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const line = (row: string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(header), rule, ...cells.map(line)].join('\n')
}

/** One fault in one line, for somebody who watches. */
export const faultLine = (row: Row): string => rowCells(row).join('  ')

function rowCells({ fault, availability, slowestRevoke_ms, recovery_ms }: Row): string[] {
  const shares = OPERATIONS.map((operation) => {
    const { good, all } = availability[operation]
    // Rounded down: 100 means that not one failed.
    return all === 0 ? '-' : String(Math.floor((100 * good) / all))
  })
  return [fault, ...shares, slowestRevoke_ms === 0 ? '-' : seconds(slowestRevoke_ms), seconds(recovery_ms)]
}

const seconds = (duration_ms: number): string => `${(duration_ms / 1_000).toFixed(1)} s`
