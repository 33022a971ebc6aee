import type { Command } from 'commander'
import type { Operator } from '../operator.ts'

/** What a command has to say when it is done: `text` for people, `data` for `--json`. */
export interface Outcome {
  text: string
  data: unknown
  /** Default 0. */
  exitCode?: number
}

/** Runs a command with the stores open, and prints its outcome. */
export type Run = (work: (operator: Operator) => Promise<Outcome>) => Promise<void>

/** A group of commands, such as `clients`. */
export function group(program: Command, name: string, description: string): Command {
  return program.command(name).description(description)
}

/** A command whose help ends with an example. */
export function command(parent: Command, name: string, description: string, example: string): Command {
  return parent
    .command(name)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run admin -- ${example}`)
}

/** Rows as columns that line up, under their titles. */
export function table(titles: string[], rows: string[][], empty: string): string {
  if (rows.length === 0) return empty
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  return [titles, ...rows].map(line).join('\n')
}

/** To the minute, in UTC. */
export const shownTime = (time: Date | null): string =>
  time === null ? '-' : `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`
