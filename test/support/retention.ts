import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PAGE = join(import.meta.dirname, '../../infra/runbook/privacy.md')

export const retentionRows = readFileSync(PAGE, 'utf8')
  .split('\n')
  .filter((line) => /^\| `[^`]+` \|(?:[^|]*\|){4}$/.test(line))
  .map((line) => {
    const [name = '', holds = '', keptFor = '', afterPerson = '', afterCompany = ''] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
    return { name: name.replaceAll('`', ''), holds, keptFor, afterPerson, afterCompany }
  })

/** Whether this data is kept after a company was erased, by the table's row for where it is stored. */
export const isKeptAfterCompany = (where: string, what: string): boolean =>
  retentionRows.some(
    ({ name, afterCompany }) =>
      new RegExp(`^${name.replaceAll('*', '.+')}$`).test(where) && afterCompany.toLowerCase().includes(what),
  )
