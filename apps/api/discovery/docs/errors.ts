import { readFileSync } from 'node:fs'
import { CALLBACK_URL_PROBLEMS } from '#shared/problems/callback-url-problems.ts'
import { table } from './markdown.ts'

/** The page that explains every error. */
const PAGE = readFileSync(new URL('pages/errors.md', import.meta.url), 'utf8')
const OAUTH_ENTRY = /^### `(\w+)` ([\d, ]+) \{#oauth-\w+\}\n\n(.+)$/gm

/** Every `error` that the authorization server answers with. Its tests compare each answer with this list. */
export const OAUTH_ERRORS: Record<string, { statuses: readonly number[]; cause: string }> =
  Object.fromEntries(
    [...PAGE.matchAll(OAUTH_ENTRY)].map(([, error, statuses = '', cause = '']) => [
      error,
      { statuses: statuses.split(', ').map(Number), cause },
    ]),
  )

/** Why a callback URL is refused, in the words that the workspace shows too. */
export const callbackUrlProblems = (): string =>
  Object.entries(CALLBACK_URL_PROBLEMS)
    .map(
      ([code, sentence]) =>
        `### \`${code}\` 422 {#problem-${code}}\n\nThe callback URL is not allowed. The saved URL stays as it was.\n\n**What to do:** ${sentence}\n`,
    )
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
        `[\`${error}\`](errors.md#oauth-${error})`,
        cause,
      ]),
  )
