import { repeat } from '../support/repeat.ts'

/** Four callers then stay below the 3,000 token requests a minute of one client, however fast the answers. */
const PAUSE_MS = 100

export interface Counted {
  requests: number
  /** What was not answered with 200, and when it was sent, in seconds from the start. */
  losses: string[]
}

/** Sends a request and counts it. Returns the body of its answer, if there was one. */
export type Count = <T>(
  what: string,
  send: () => Promise<{ status?: number | undefined; body: T }>,
) => Promise<T | undefined>

/** Has this many callers repeat their calls while `disturb` runs. */
export async function underLoad(
  callers: number,
  call: (count: Count) => Promise<unknown>,
  disturb: () => Promise<unknown>,
): Promise<Counted> {
  const totals: Counted = { requests: 0, losses: [] }
  const from_ms = performance.now()
  const elapsed_s = () => (performance.now() - from_ms) / 1_000

  const count: Count = async (what, send) => {
    const sent = elapsed_s().toFixed(1)
    totals.requests += 1
    const answer = await send().catch((error: Error) => ({ status: error.name, body: undefined }))
    if (answer.status !== 200) totals.losses.push(`${what}: ${answer.status}, sent at ${sent} s`)
    return answer.body
  }
  const ends = Array.from({ length: callers }, () => repeat(PAUSE_MS, () => call(count)))
  try {
    await disturb()
  } finally {
    await Promise.all(ends.map((end) => end()))
  }
  return totals
}
