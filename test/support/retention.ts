import { read } from './project.ts'

export const retentionRows = read('infra/runbook/privacy.md')
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
      new RegExp(`^${name.replaceAll('*', '.*')}$`).test(where) && afterCompany.toLowerCase().includes(what),
  )
