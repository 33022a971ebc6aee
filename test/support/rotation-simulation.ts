import {
  type RotationEvidence,
  rotationState,
  type UseEvidence,
} from '../../apps/api/clients/rotation-state.ts'
import { type DayOfUse, daysOfUse, withDays } from '../../apps/api/clients/usage-days.ts'
import type { AddressOfUse } from '../../apps/api/clients/usage-history.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** One system that uses a client: its token requests, oldest first, and when it turned to the replacement. */
export interface Machine {
  address: string
  uses_ms: number[]
  movedAt_ms: number
}

export interface Simulated {
  machines: Machine[]
  /** When the replacement was created. Its secret was put away two minutes later, after a trial from a laptop. */
  rotatedAt_ms: number
  endsAt_ms: number
  /** How far two looks at the state are apart, beside those a minute before each use. */
  step_ms: number
}

export interface Outcome {
  /** When a machine first came back to the old client after it had been called safe to revoke. */
  cameBackAt_ms: number | undefined
  /** How often the state was looked at. */
  moments: number
  /** When the state was `safe` although the past of a machine showed a use of the old client that was still ahead. */
  wronglySafeAt_ms: number[]
  /** The first time that it was `safe`. */
  safeAt_ms: number | undefined
  /** When the last machine turned to the replacement. */
  lastMoveAt_ms: number
  /** The longest time without a use of the old client between two of one machine. */
  period_ms: number
}

/** What the service would have kept of the uses so far. */
function createRecord() {
  let days: DayOfUse[] = []
  /** Not yet among the days. */
  let pending: number[] = []
  const addresses = new Map<string, AddressOfUse>()
  let hours: number[] = []
  let minutes: number[] = []
  let lastUsedAt_ms: number | undefined
  return {
    add(at_ms: number, address: string): void {
      const minute_ms = at_ms - (at_ms % MINUTE_MS)
      const hour_ms = at_ms - (at_ms % HOUR_MS)
      pending.push(minute_ms)
      if (hours.at(-1) !== hour_ms) hours.push(hour_ms)
      if (minutes.at(-1) !== minute_ms) minutes.push(minute_ms)
      lastUsedAt_ms = at_ms
      const before = addresses.get(address)
      addresses.set(address, {
        address,
        tokens: (before?.tokens ?? 0) + 1,
        seenAt_ms: at_ms,
        firstSeenAt_ms: before?.firstSeenAt_ms ?? at_ms,
        longestGap_ms: Math.max(before?.longestGap_ms ?? 0, before ? at_ms - before.seenAt_ms : 0),
      })
    },
    at(now_ms: number): UseEvidence {
      days = withDays(days, daysOfUse(pending))
      pending = []
      hours = hours.filter((at_ms) => at_ms > now_ms - 14 * DAY_MS)
      minutes = minutes.filter((at_ms) => at_ms > now_ms - HOUR_MS)
      return {
        lastUsedAt_ms,
        days: days.filter(({ day_ms }) => day_ms > now_ms - 101 * DAY_MS),
        hours,
        minutes,
        addresses: [...addresses.values()]
          .filter(({ seenAt_ms }) => seenAt_ms > now_ms - 100 * DAY_MS)
          .sort((a, b) => b.seenAt_ms - a.seenAt_ms),
      }
    },
  }
}

/** Lets the machines work, and looks at the state from the creation of the replacement on. */
export function simulate({ machines, rotatedAt_ms, endsAt_ms, step_ms }: Simulated): Outcome {
  const putAwayAt_ms = rotatedAt_ms + 2 * MINUTE_MS
  const uses = machines
    .flatMap(({ uses_ms, address, movedAt_ms }) =>
      uses_ms.map((at_ms) => ({ at_ms, address, of: at_ms < movedAt_ms ? ('old' as const) : 'replacement' })),
    )
    .concat({ at_ms: rotatedAt_ms + MINUTE_MS, address: '198.51.100.200', of: 'replacement' })
    .sort((a, b) => a.at_ms - b.at_ms)
  const looks = uses.filter(({ of }) => of === 'old').map(({ at_ms }) => at_ms - MINUTE_MS)
  for (let at_ms = rotatedAt_ms; at_ms < endsAt_ms; at_ms += step_ms) looks.push(at_ms)
  const records = { old: createRecord(), replacement: createRecord() }
  const outcome = { moments: 0, wronglySafeAt_ms: [] as number[], safeAt_ms: undefined as number | undefined }
  let cameBackAt_ms: number | undefined
  const ofOld = machines.map(({ uses_ms, movedAt_ms }) => uses_ms.filter((at_ms) => at_ms < movedAt_ms))
  let next = 0
  for (const now_ms of looks.filter((at_ms) => at_ms >= rotatedAt_ms).sort((a, b) => a - b)) {
    for (let use = uses[next]; use && use.at_ms <= now_ms; use = uses[++next]) {
      if (use.of === 'old' && outcome.safeAt_ms !== undefined) cameBackAt_ms ??= use.at_ms
      records[use.of === 'old' ? 'old' : 'replacement'].add(use.at_ms, use.address)
    }
    const evidence: RotationEvidence = {
      whole: true,
      old: { ...records.old.at(now_ms), revoked: false },
      replacement: {
        ...records.replacement.at(now_ms),
        createdAt_ms: rotatedAt_ms,
        secretPutAwayAt_ms: now_ms >= putAwayAt_ms ? putAwayAt_ms : undefined,
      },
      refusedSinceRevoke: 0,
      refusedAddresses: new Map(),
      restoredAt_ms: undefined,
    }
    outcome.moments += 1
    if (rotationState(evidence, now_ms).state !== 'safe') continue
    outcome.safeAt_ms ??= now_ms
    if (ofOld.some((uses_ms) => shownAhead(uses_ms, now_ms))) outcome.wronglySafeAt_ms.push(now_ms)
  }
  const lastMoveAt_ms = Math.max(...machines.map(({ movedAt_ms }) => movedAt_ms))
  const period_ms = Math.max(...ofOld.map(longestGapOf))
  return { ...outcome, cameBackAt_ms, lastMoveAt_ms, period_ms }
}

const longestGapOf = (uses_ms: readonly number[]): number => {
  let longest_ms = 0
  for (let i = 1; i < uses_ms.length; i++)
    longest_ms = Math.max(longest_ms, (uses_ms[i] as number) - (uses_ms[i - 1] as number))
  return longest_ms
}

/** Whether the next of these uses comes no later than the longest gap of the 100 days before and a quarter. */
function shownAhead(uses_ms: readonly number[], now_ms: number): boolean {
  if ((uses_ms.at(-1) ?? 0) <= now_ms) return false
  const index = uses_ms.findIndex((at_ms) => at_ms > now_ms)
  const past_ms = uses_ms.slice(0, index).filter((at_ms) => at_ms > now_ms - 100 * DAY_MS)
  const last_ms = past_ms.at(-1)
  if (last_ms === undefined || past_ms.length < 2) return false
  return (uses_ms[index] as number) - last_ms <= longestGapOf(past_ms) * 1.25
}

/** Random numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
