import { setTimeout as sleep } from 'node:timers/promises'
import { getToken, type Installation, revokeToken } from './installation.ts'
import type { Verifier } from './verifiers.ts'

const POLL_EVERY_MS = 20
/** Later than any verifier has promised to refuse. */
const GIVE_UP_MS = 15_000
/** Rounds begin at any moment between two polls of a page. */
const PAUSE_MAX_MS = 1_000

/** How long one verifier took, round by round. */
export interface Result {
  name: string
  promised_ms: number
  /** From the reply to each revocation to the beginning of the last request that was accepted; 0: none was. */
  took_ms: number[]
}

/**
 * Gets a token, waits until every verifier accepts it, revokes it, and asks each of them until it refuses it; `count`
 * times.
 * @param options.progress called with the number of rounds that are over.
 * @throws Error when a good token is refused, or a revoked one still accepted after 15 s.
 */
export async function checkRevocation(
  installation: Installation,
  verifiers: readonly Verifier[],
  { count, progress }: { count: number; progress(rounds: number): void },
): Promise<Result[]> {
  const results = verifiers.map(({ name, promised_ms }): Result => ({ name, promised_ms, took_ms: [] }))
  for (let round = 1; round <= count; round += 1) {
    await sleep(Math.random() * PAUSE_MAX_MS)
    const token = await getToken(installation)
    for (const { name, accepts } of verifiers)
      if (!(await accepts(token))) throw new Error(`A token that was not revoked is refused: ${name}.`)
    await revokeToken(installation, token)
    const repliedAt_ms = performance.now()
    const took = await Promise.all(verifiers.map((verifier) => untilRefused(verifier, token, repliedAt_ms)))
    for (const [i, { took_ms }] of results.entries()) took_ms.push(took[i] ?? 0)
    progress(round)
  }
  return results
}

async function untilRefused(
  { name, accepts }: Verifier,
  token: string,
  repliedAt_ms: number,
): Promise<number> {
  for (let took_ms = 0; ; await sleep(POLL_EVERY_MS)) {
    const began_ms = performance.now() - repliedAt_ms
    if (began_ms > GIVE_UP_MS) throw new Error(`A revoked token is still accepted after 15 s: ${name}.`)
    if (!(await accepts(token))) return took_ms
    took_ms = began_ms
  }
}

/** Whether a verifier accepted a revoked token for longer than it has promised. */
export const isLate = ({ promised_ms, took_ms }: Result): boolean => Math.max(...took_ms) > promised_ms

/** A row for each verifier, as a Markdown table that also reads well in a terminal. */
export function resultsTable(results: readonly Result[]): string {
  const header = ['verifier', 'median', 'worst', 'promised', 'count']
  const rows = results.map(({ name, promised_ms, took_ms }) => {
    const sorted = [...took_ms].sort((a, b) => a - b)
    const median_ms = sorted[Math.floor(sorted.length / 2)] ?? 0
    const durations = [median_ms, sorted.at(-1) ?? 0, promised_ms].map(seconds)
    return [name, ...durations, String(took_ms.length)]
  })
  const widths = header.map((title, i) =>
    Math.max(...[header, ...rows].map((row) => row[i]?.length ?? 0), title.length),
  )
  const line = (row: string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [
    line(header),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...rows.map(line),
  ].join('\n')
}

const seconds = (duration_ms: number): string =>
  duration_ms === 0 ? 'at once' : `${(duration_ms / 1_000).toFixed(2)} s`
