import { PROBLEMS, type ProblemCode } from '#shared/problems/problems.ts'
import { code, escaped, prose, table } from './html.ts'
import { OAUTH_ERRORS } from './oauth-errors.ts'
import { problemAdvice } from './problem-advice.ts'

/** The anchors of an error: `problem-` for those of the resource API, `oauth-` for those of the authorization server. */
export const problemAnchor = (problem: string): string => `problem-${problem}`
export const oauthAnchor = (error: string): string => `oauth-${error}`

/** Every error of the token and the revocation endpoint. */
export const oauthErrors = (): string =>
  Object.entries(OAUTH_ERRORS)
    .map(([error, { statuses, cause, cure }]) => article(oauthAnchor(error), error, statuses, cause, cure))
    .join('\n')

/** Every problem of the resource API, by status. */
export function problems(): string {
  const byStatus = Map.groupBy(
    Object.keys(PROBLEMS) as ProblemCode[],
    (problem) => PROBLEMS[problem].status as number,
  )
  return [...byStatus]
    .map(([status, codes]) => {
      const articles = codes.map((problem) => {
        const { cause, cure } = problemAdvice[problem]
        return article(problemAnchor(problem), problem, [status], cause, cure)
      })
      return `<h2 id="status-${status}">Resource API: ${status}</h2>\n${articles.join('\n')}`
    })
    .join('\n')
}

const article = (
  anchor: string,
  name: string,
  statuses: readonly number[],
  cause: string,
  cure: string,
): string => `<h3 id="${anchor}"><a class="self" href="#${anchor}">${code(name)}</a> <span class="status">${statuses.join(', ')}</span></h3>
<dl class="advice"><dt>Why</dt><dd>${prose(cause)}</dd><dt>What to do</dt><dd>${prose(cure)}</dd></dl>`

/** Statuses of other paths and of documents. */
const NOT_OF_TOKENS = [404, 405, 412]

/** What the token endpoint refuses, in brief. @param href the address of the page of errors. */
export const oauthErrorTable = (href: string): string =>
  table(
    ['Status', 'error', 'Why'],
    Object.entries(OAUTH_ERRORS)
      .filter(([, { statuses }]) => !statuses.some((status) => NOT_OF_TOKENS.includes(status)))
      .map(([error, { statuses, cause }]) => [
        escaped(statuses.join(', ')),
        `<a href="${escaped(href)}#${oauthAnchor(error)}">${code(error)}</a>`,
        prose(cause),
      ]),
  )
