import { readInfra } from '../../support/deployment.ts'

/** The expression of each alert, by its name. */
export const RULES = new Map(
  [...readInfra('monitoring/alerts.yaml').matchAll(/- alert: (\w+)\n +expr: '(.+)'/g)].map(
    ([, name = '', expression = '']) => [name, expression],
  ),
)

const chapter = (page: string, heading: string): string =>
  readInfra(page).split(`## ${heading}\n`)[1]?.split('\n#')[0] ?? ''

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

/** Returns the first piece of code in a text that is such a one. @throws Error if there is none. */
function findCode(text: string, command: RegExp): string {
  const code = [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code).find((it) => command.test(it))
  if (!code) throw new Error(`no ${command} is printed in: ${text}`)
  return code
}

/** Returns a command as a cure prints it. `name` begins the row. @throws Error if it has no such one. */
export const printedCommand = (name: string, command: RegExp): string =>
  findCode([...FAILURES, ...ALERTS].find((row) => row.name.startsWith(name))?.cure ?? '', command)

const BACKUP = readInfra('runbook/backup.md')

/** Returns a command of the page about restoring a database. */
export const restoreCommand = (command: RegExp): string =>
  findCode(BACKUP.replaceAll(/```[\s\S]*?```/g, ''), command)

/** Returns the script that prints what to repeat after a restore. */
export const restoreScript = (): string => findBlock(BACKUP, 'sh')

/** Returns the statements of the page's block of SQL. */
export const printedStatements = (): string[] =>
  findBlock(chapter('runbook/failures.md', 'Alerts'), 'sql').split(';\n').filter(Boolean)

function findBlock(page: string, language: string): string {
  const [, block] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  if (!block) throw new Error(`no block of ${language} is printed in: ${page}`)
  return block
}
