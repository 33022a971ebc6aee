import { setTimeout as sleep } from 'node:timers/promises'
import { JWT_BEARER } from '../support/assertions.ts'

/** Many times what a busy machine takes. */
const START_MAX_MS = 60_000

/**
 * Posts JSON to a program that is starting, until it answers.
 * @throws Error if nothing listens after a minute.
 */
export async function untilAnswered(url: string, body: string): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' }
  for (const end = performance.now() + START_MAX_MS; ; await sleep(100)) {
    const answer = await fetch(url, { method: 'POST', body, headers }).catch((error) => {
      if (performance.now() > end) throw error
    })
    if (answer) return answer
  }
}

/**
 * Each language's file that caches the token, and what /docs/private-key says to change in it to send an
 * assertion.
 */
export const SIGNING: Record<string, { file: string; changes: [before: RegExp, after: string][] }> = {
  js: {
    file: 'access-token.mjs',
    changes: [
      [/^/, "import { assertion } from './assertion.mjs'\n"],
      [/client_secret: .*/, `client_assertion_type: '${JWT_BEARER}', client_assertion: assertion(),`],
    ],
  },
  py: {
    file: 'access_token.py',
    changes: [
      [/^/, 'from assertion import assertion\n'],
      [/"client_secret": .*/, `"client_assertion_type": "${JWT_BEARER}", "client_assertion": assertion(),`],
    ],
  },
}
