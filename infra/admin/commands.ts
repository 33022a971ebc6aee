import type { Command, Help } from 'commander'
import type { Operator } from './operator.ts'

/** The result of a command, as `text` for people and `data` for `--json`. */
export interface Outcome {
  text: string
  data: unknown
  /** Default 0. */
  exitCode?: number
}

/** Runs a command with the stores open, and prints its outcome, unless it has printed everything itself. */
export type Run = (work: (operator: Operator) => Promise<Outcome | undefined>) => Promise<void>

/** Prints the outcome of a command that needs no stores. */
export type Print = (work: () => Promise<Outcome | undefined>) => Promise<void>

const GLOBAL_OPTIONS = { showGlobalOptions: true }
const DESCRIPTION_INDENT = 6

/**
 * A group of commands, such as `client`, with its plural as an alias. Its help shows each command's arguments.
 */
export function group(program: Command, name: string, description: string, plural?: string): Command {
  const made = program.command(name).description(description)
  if (plural !== undefined) made.alias(plural)
  return made.configureHelp({ ...GLOBAL_OPTIONS, subcommandTerm: usage, formatItem })
}

/** The required arguments of a command, and whether it has further options. */
function usage(command: Command): string {
  const { registeredArguments, options } = command
  const needed = options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags)
  const given = registeredArguments.map((argument) => `<${argument.name()}>`)
  const more = options.length > needed.length ? ['[options]'] : []
  return [command.name(), ...given, ...needed, ...more].join(' ')
}

/** Puts the description below the term, which may be long. */
function formatItem(term: string, _termWidth: number, description: string, help: Help): string {
  const indent = ' '.repeat(DESCRIPTION_INDENT)
  const width = (help.helpWidth ?? 80) - DESCRIPTION_INDENT
  return `  ${term}\n${help.boxWrap(description, width).replace(/^/gm, indent)}`
}

/** A command whose help ends with an example. */
export function command(parent: Command, name: string, description: string, example: string): Command {
  return parent
    .command(name)
    .description(description)
    .configureHelp(GLOBAL_OPTIONS)
    .addHelpText('after', `\nExample:\n  npm run admin -- ${example}`)
}

/** Formats rows as aligned columns under their titles. */
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
