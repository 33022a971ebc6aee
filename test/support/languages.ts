import { setTimeout as sleep } from 'node:timers/promises'
import { JWT_BEARER } from './assertions.ts'

/** A compiler's first run on a busy machine takes minutes. */
const START_MAX_MS = 180_000

/** Variables with which programs that run for a second start sooner: their commands stay as they are. */
export const QUICK_START = {
  // Code that runs once is not worth the second compiler, nor its heap several collectors.
  JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto',
  // No debugging information is linked.
  GOFLAGS: '-ldflags=-w',
  CGO_ENABLED: '0',
}

/**
 * Posts JSON to a program that is starting, until it answers.
 * @throws Error if nothing listens after three minutes.
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
  go: {
    file: 'access_token.go',
    changes: [
      [
        /\n(\tresponse, err)/,
        '\n\tsigned, err := assertion()\n\tif err != nil {\n\t\treturn "", err\n\t}\n$1',
      ],
      [/"client_secret": .*/, `"client_assertion_type": {"${JWT_BEARER}"}, "client_assertion": {signed},`],
    ],
  },
  java: {
    file: 'AccessToken.java',
    changes: [
      [
        /"client_secret", .*/,
        `"client_assertion_type", "${JWT_BEARER}", "client_assertion", Assertion.get(),`,
      ],
    ],
  },
  php: {
    file: 'access-token.php',
    changes: [
      [/\n/, "\nrequire 'assertion.php';\n"],
      [
        /'client_secret' => .*/,
        `'client_assertion_type' => '${JWT_BEARER}', 'client_assertion' => assertion(),`,
      ],
    ],
  },
}
