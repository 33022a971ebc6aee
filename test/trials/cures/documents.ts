import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const INFRA = join(import.meta.dirname, '../../../infra')
const read = (file: string): string => readFileSync(join(INFRA, file), 'utf8')
const CODE = /`([^`]+)`/g

/** The expression of each alert, by its name. */
export const RULES = new Map(
  [...read('monitoring/alerts.yaml').matchAll(/- alert: (\w+)\n +expr: '(.+)'/g)].map(
    ([, name = '', expression = '']) => [name, expression],
  ),
)

const chapter = (page: string, heading: string): string =>
  read(page).split(`## ${heading}\n`)[1]?.split('\n#')[0] ?? ''

/** Returns a table of failures.md by its chapter: each row's first cell, without backticks, and last. */
const rowsOf = (heading: string) =>
  chapter('runbook/failures.md', heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.slice(2, -2).split(' | '))
    .map((cells) => ({ name: (cells[0] ?? '').replaceAll('`', ''), cure: cells.at(-1) ?? '' }))

export const FAILURES = rowsOf('When something fails')
export const ALERTS = rowsOf('Alerts')

/** Returns a command as a cure prints it. `name` begins the row. @throws Error if it has no such one. */
export function printedCommand(name: string, command: RegExp): string {
  const { cure } = [...FAILURES, ...ALERTS].find((row) => row.name.startsWith(name)) ?? { cure: '' }
  const code = [...cure.matchAll(CODE)].map(([, code = '']) => code).find((code) => command.test(code))
  if (!code) throw new Error(`failures.md prints no ${command} for "${name}", but: ${cure}`)
  return code
}

/** Returns a command of the page about restoring a database. */
export function restoreCommand(command: RegExp): string {
  const prose = read('runbook/backup.md').replaceAll(/```[\s\S]*?```/g, '')
  const printed = [...prose.matchAll(CODE)].map(([, code = '']) => code).find((code) => command.test(code))
  if (!printed) throw new Error(`backup.md prints no ${command}`)
  return printed
}

/** Returns the script that prints what to repeat after a restore. */
export function restoreScript(): string {
  const [, block] = /```sh\n([\s\S]*?)```/.exec(read('runbook/backup.md')) ?? []
  if (!block) throw new Error('backup.md prints no script')
  return block
}

/** Returns the statements of the page's block of SQL. */
export function printedStatements(): string[] {
  const [, block] = /```sql\n([\s\S]*?)```/.exec(chapter('runbook/failures.md', 'Alerts')) ?? []
  if (!block) throw new Error('failures.md prints no SQL under Alerts')
  return block.split(';\n').filter(Boolean)
}
