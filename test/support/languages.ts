import { setTimeout as sleep } from 'node:timers/promises'

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
