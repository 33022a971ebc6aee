/** Offers the text as a file of this name and media type. It never leaves the browser. */
export function download(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

type Cell = string | number | null

/** RFC 4180. */
export const toCsv = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('')

/**
 * Spreadsheets run text that begins with one of these as a formula, even after a line break, tab or semicolon
 * in a cell. Some skip quotes and spaces before it.
 */
const FORMULA = /(^|[;\t\r\n])(?=[" ]{0,8}[=+\-@＝＋－＠\t\r])/g

/** RFC 4180. An apostrophe keeps text from being run as a formula. */
export function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = value.replace(FORMULA, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const downloadCsv = (name: string, content: string): void =>
  download(name, content, 'text/csv;charset=utf-8')
