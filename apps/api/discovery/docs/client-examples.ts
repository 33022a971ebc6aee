import { escaped } from './markdown.ts'

/** Exactly what a link may put into the examples: nothing that a shell or a program would run. */
const PATTERNS = {
  client_id: /^cli_[A-Za-z0-9]{22}$/,
  vendor_id: /^ven_[A-Za-z0-9]{1,60}$/,
  scope: /^[a-z]+:(?:read|write)(?: [a-z]+:(?:read|write)){0,9}$/,
} as const

/**
 * Returns a page with the client of the query in its examples, and in its links to other pages. What does not match its
 * pattern is ignored; undefined if nothing is left.
 * @param home the address of the first page of the documentation.
 */
export function fillExamples(html: string, query: URLSearchParams, home: string): string | undefined {
  const given = Object.entries(PATTERNS).flatMap(([name, pattern]) => {
    const value = query.get(name) ?? ''
    return pattern.test(value) ? [[name, value]] : []
  })
  if (given.length === 0) return undefined
  const { client_id, vendor_id, scope }: Partial<Record<keyof typeof PATTERNS, string>> =
    Object.fromEntries(given)
  const isPage = (path: string) => path === home || (path.startsWith(`${home}/`) && !path.includes('.'))
  const kept = escaped(`?${new URLSearchParams(given)}`)
  let filled = html.replaceAll(/ href="([^"#]*)/g, (link, path) => (isPage(path) ? link + kept : link))
  if (client_id === undefined || !filled.includes('cli_…')) return filled
  filled = filled.replaceAll('cli_…', client_id)
  if (vendor_id !== undefined) filled = filled.replaceAll('ven_…', vendor_id)
  if (scope !== undefined)
    filled = filled.replace(/(?<=INTEGRATION_SCOPE=)&quot;.*?&quot;/, `&quot;${scope}&quot;`)
  const note = `Filled in for the client <code>${client_id}</code>. <a href="${home}">Show placeholders</a>`
  return filled.replace('</h1>', `</h1>\n<blockquote><p>${note}</p></blockquote>`)
}
