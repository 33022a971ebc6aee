import { setTimeout as sleep } from 'node:timers/promises'

const ASK_EVERY_MS = 200
/** A page that takes longer does not count as available. */
const ANSWER_MAX_MS = 500

/** Keeps asking for the revocations page by the same way as the outside verifiers. */
export function watchPage(url: string) {
  const misses: { from_ms: number; to_ms: number }[] = []
  let stopping = false

  async function ask(): Promise<void> {
    const from_ms = performance.now()
    const signal = AbortSignal.timeout(ANSWER_MAX_MS)
    // A connection of its own each time, so that each process behind the address is asked in turn.
    const came = await fetch(url, { signal, headers: { connection: 'close' } })
      .then(async (response) => response.ok && (await response.text()).length > 0)
      .catch(() => false)
    if (!came) misses.push({ from_ms, to_ms: performance.now() })
  }
  const watching = (async () => {
    for (; !stopping; await sleep(ASK_EVERY_MS)) await ask()
  })()

  return {
    /** Whether every page that was asked for between the two (of performance.now()) came, and soon. */
    sawPages: (from_ms: number, to_ms: number): boolean =>
      !misses.some((miss) => miss.from_ms <= to_ms && from_ms <= miss.to_ms),
    stop(): Promise<void> {
      stopping = true
      return watching
    },
  }
}
