import { PROBLEMS, type ProblemCode } from '#shared/problems/problems.ts'
import { table } from './markdown.ts'
import { OAUTH_ERRORS } from './oauth-errors.ts'
import { type Advice, problemAdvice } from './problem-advice.ts'

/** The anchors of an error: `problem-` for those of the resource API, `oauth-` for those of the authorization server. */
export const problemAnchor = (problem: string): string => `problem-${problem}`
export const oauthAnchor = (error: string): string => `oauth-${error}`

const entry = (anchor: string, name: string, statuses: readonly number[], { cause, cure }: Advice): string =>
  `### \`${name}\` ${statuses.join(', ')} {#${anchor}}\n\n${cause}\n\n**What to do:** ${cure}\n`

/** Every error of the OAuth endpoints. */
export const oauthErrors = (): string =>
  Object.entries(OAUTH_ERRORS)
    .map(([error, advice]) => entry(oauthAnchor(error), error, advice.statuses, advice))
    .join('\n')

/** Every problem of the resource API, by status. */
export const problems = (): string =>
  [...Map.groupBy(Object.keys(PROBLEMS) as ProblemCode[], (code) => PROBLEMS[code].status as number)]
    .map(([status, codes]) => {
      const entries = codes.map((code) => entry(problemAnchor(code), code, [status], problemAdvice[code]))
      return `## Resource API: ${status} {#status-${status}}\n\n${entries.join('\n')}`
    })
    .join('\n')

/** Statuses of other paths and of documents. */
const NOT_OF_TOKENS = [404, 405, 412]

/** What the token endpoint refuses, in brief. */
export const oauthErrorTable = (): string =>
  table(
    ['Status', 'error', 'Why'],
    Object.entries(OAUTH_ERRORS)
      .filter(([, { statuses }]) => !statuses.some((status) => NOT_OF_TOKENS.includes(status)))
      .map(([error, { statuses, cause }]) => [
        statuses.join(', '),
        `[\`${error}\`](errors.md#${oauthAnchor(error)})`,
        cause,
      ]),
  )
