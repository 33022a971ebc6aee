import { Argument, type Command, Option } from 'commander'
import type { OperatorAccess } from './operator.ts'

/* What a command is, how commander gets it, and how tables and times are printed. */

/** The result of a command, as `text` for people and `data` for `--json`. */
export interface Outcome {
  text: string
  data: unknown
  /** Default 0. */
  exitCode?: number
}

/** Such as 1,234,567. */
export const formatCount = (count: number): string => Math.round(count).toLocaleString('en')

/** Such as `1 row` and `2,000 rows`. */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`

/** A command's environment and streams, from a process or a test. */
export interface CommandEnvironment {
  env: NodeJS.ProcessEnv
  stdin: NodeJS.ReadStream
  stdout: Pick<NodeJS.WritableStream, 'write'>
  stderr: NodeJS.WritableStream
}

/** What a command works with that needs the stores. */
export type OperatorContext = CommandEnvironment & OperatorAccess

/** Arguments and options by name in camel case, as commander has read them. */
export type CommandArguments = Record<string, unknown>

interface CommandRow {
  name: string
  description: string
  /** A call, without `npm run admin --`. */
  example: string
  args?: readonly (Argument | string)[]
  options?: readonly Option[]
  /** Shown by --help below the options. */
  explanation?: string
}

/** A command that needs no stores. */
export interface LocalCommand extends CommandRow {
  runAlone(environment: CommandEnvironment, args: CommandArguments): Promise<Outcome>
}

/** A command that runs with the stores open. */
export interface OperatorCommand extends CommandRow {
  /** Shown repeatedly while it takes long. Default: `Working`. Null if `run` shows its own progress. */
  progress?: string | null
  /** A sentence about what Ctrl-C leaves while it runs. */
  ifInterrupted?: string
  /**
   * Returns a sentence that says what the command will do and cannot undo. A person confirms it at a
   * terminal, or with `--yes`, which the command then has.
   */
  effect?(context: OperatorContext, args: CommandArguments): Promise<string>
  /** Resolves with undefined if it has printed everything itself. */
  run(context: OperatorContext, args: CommandArguments): Promise<Outcome | undefined>
}

export type AdminCommand = LocalCommand | OperatorCommand

/** The commands about one thing, such as `client`, with its plural as an alias. */
export interface CommandGroup {
  name: string
  plural?: string
  description: string
  commands: readonly AdminCommand[]
}

const GLOBAL_OPTIONS = { showGlobalOptions: true }

/** Adds the commands of a table to the program, or to one of its subjects. */
export function bind(
  parent: Command,
  commands: readonly AdminCommand[],
  execute: (command: AdminCommand, args: CommandArguments) => Promise<void>,
): void {
  for (const row of commands) {
    const command = parent
      .command(row.name)
      .description(row.description)
      .configureHelp(GLOBAL_OPTIONS)
      .addHelpText('after', `\nExample:\n  npm run admin -- ${row.example}`)
    for (const argument of row.args ?? [])
      command.addArgument(typeof argument === 'string' ? new Argument(`<${argument}>`) : argument)
    for (const option of row.options ?? []) command.addOption(option)
    if ('effect' in row) command.option('--yes', 'do not ask')
    if (row.explanation !== undefined) command.addHelpText('after', row.explanation)
    command.action(() => execute(row, readArguments(command)))
  }
}

function readArguments(command: Command): CommandArguments {
  const names = command.registeredArguments.map((argument) => argument.name())
  const camelCase = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  const values = names.map((name, index) => [camelCase(name), command.processedArgs[index]])
  return { ...command.opts(), ...Object.fromEntries(values) }
}

/** Adds a subject, such as `client`. */
export function addGroup(
  program: Command,
  { name, plural, description }: Omit<CommandGroup, 'commands'>,
): Command {
  const subject = program.command(name).description(description)
  if (plural !== undefined) subject.alias(plural)
  return subject.configureHelp(GLOBAL_OPTIONS)
}

export const required = (flags: string, description: string): Option =>
  new Option(flags, description).makeOptionMandatory()

/** Formats records as aligned columns, by the title of each member that is shown. */
export function formatTable<T extends object>(
  records: readonly T[],
  titles: { readonly [Member in keyof T]?: string },
  empty: string,
): string {
  if (records.length === 0) return empty
  const members = Object.keys(titles) as (keyof T)[]
  const rows = [
    members.map((member) => titles[member] ?? ''),
    ...records.map((record) => members.map((member) => formatCell(record[member]))),
  ]
  const widths = members.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatCell(value: unknown): string {
  if (value instanceof Date) return formatTime(value)
  return Array.isArray(value) ? value.join(' ') : String(value ?? '-')
}

/** To the minute, in UTC. */
export const formatTime = (time: Date): string => `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`
