import { rhythmOfAddress, rhythmOfClient, TOKEN_LIFE_MS, withQuarter } from './rotation-rhythm.ts'
import type { DayOfUse } from './usage-days.ts'
import type { AddressOfUse } from './usage-history.ts'
import { ADDRESSES_KEPT, DAY_MS, HOUR_MS, MINUTE_MS } from './usage-windows.ts'

/** Every state of a rotation, with what makes it true. Only `safe` says that the old client can be revoked. */
export const ROTATION_STATES = {
  unknown: 'Its usage cannot be read right now.',
  no_replacement: 'No Active client replaces it.',
  not_deployed: 'The replacement has never got a token.',
  trial: 'The replacement got tokens only while its secret was shown, or in one short stretch.',
  in_use: 'It got a token within the last 15 minutes.',
  unused: 'It has never got a token.',
  no_rhythm: 'Fewer than two whole gaps between its uses are known, or too many addresses used it.',
  replacement_silent: 'The replacement has got no token for longer than expected.',
  waiting: 'Its longest gap and a quarter have not passed since its last use.',
  safe: 'They have passed, for each of its addresses too, and the replacement is in use.',
  refused: 'It is revoked, and its requests were refused since then.',
  revoked: 'It is revoked. Nothing shows that the replacement is in use.',
  complete: 'It is revoked, none of its requests were refused since, and the replacement is in use.',
} as const
export type RotationState = keyof typeof ROTATION_STATES

/** When a client was used. Lists are oldest first; times are in milliseconds since the Unix epoch. */
export interface UseEvidence {
  lastUsedAt_ms: number | undefined
  days: readonly DayOfUse[]
  /** The hours of the last 14 days in which it was used, and the minutes of the last 60. */
  hours: readonly number[]
  minutes: readonly number[]
  addresses: readonly AddressOfUse[]
}

export interface RotationEvidence {
  /** Whether all uses are known that the service has counted. */
  whole: boolean
  old: UseEvidence & { revoked: boolean }
  /** The Active client that replaces it. */
  replacement: (UseEvidence & { createdAt_ms: number; secretPutAwayAt_ms: number | undefined }) | undefined
  /** How many requests of the old client were refused since it was revoked, in the last 24 hours. */
  refusedSinceRevoke: number
  /** Their addresses, each with its latest such request, the latest first. */
  refusedAddresses: ReadonlyMap<string, number>
  /** When the database was last restored from a backup: it may lack uses before then. */
  restoredAt_ms: number | undefined
}

export interface AddressInRotation {
  address: string
  lastUsedAt_ms: number
  /**
   * `moved`: it used the replacement last, and its next use of the old client has failed to appear. `not_yet`: its
   * next use is still ahead, or was refused since the revoke. `unknown`: it used both of late, was used once, stopped
   * without using the replacement, or uses may be missing.
   */
  move: 'moved' | 'not_yet' | 'unknown'
  /** Whether it may still use the old client. */
  due: boolean
}

export interface Rotation {
  state: RotationState
  /** The old client's; undefined if no rhythm is known, or uses may be missing. */
  longestGap_ms: number | undefined
  expectedNextUseAt_ms: number | undefined
  /** When its longest gap and a quarter will have passed without a use; undefined if no rhythm is known. */
  safeFrom_ms: number | undefined
  /** What came before this time is not known. */
  evidenceSince_ms: number | undefined
  /** The latest first. */
  addresses: AddressInRotation[]
}

/** A token this soon after its creation is taken for a trial if it is not known when the secret was put away. */
const TRIAL_MS = 5 * MINUTE_MS
/** Expected of an address that was used once. */
const ONCE_MS = withQuarter(3 * DAY_MS)
const WEEK_MS = 7 * DAY_MS

/**
 * Judges a rotation, or a client that nothing replaces, by its uses. A client has stopped when its longest known gap
 * and a quarter have passed without a use, and those of each of its addresses. See docs/rotation.md.
 */
export function rotationState(evidence: RotationEvidence, now_ms: number): Rotation {
  const { whole, old, replacement, restoredAt_ms = 0 } = evidence
  const { lastUsedAt_ms } = old
  const rhythm =
    whole && old.addresses.length < ADDRESSES_KEPT
      ? rhythmOfClient(old.days, replacement?.createdAt_ms ?? Infinity)
      : undefined
  const addresses = old.addresses.map((one) => addressIn(evidence, one, now_ms))
  const ends_ms = old.addresses.flatMap((one) => {
    const own = rhythmOfAddress(one)
    return own ? [Math.max(one.seenAt_ms, restoredAt_ms) + own.allowed_ms] : []
  })
  const quietSince_ms = lastUsedAt_ms && Math.max(lastUsedAt_ms, restoredAt_ms)
  const judged = {
    longestGap_ms: rhythm?.longestGap_ms,
    expectedNextUseAt_ms:
      rhythm && lastUsedAt_ms && expectedAfter(lastUsedAt_ms, old.hours, rhythm.longestGap_ms),
    safeFrom_ms: rhythm && quietSince_ms && Math.max(quietSince_ms + rhythm.allowed_ms, ...ends_ms),
  }
  const state = stateOf(evidence, judged, now_ms)
  return { state, ...judged, evidenceSince_ms: old.days[0]?.firstUsedAt_ms, addresses }
}

type Judged = Pick<Rotation, 'longestGap_ms' | 'expectedNextUseAt_ms' | 'safeFrom_ms'>

function stateOf(evidence: RotationEvidence, judged: Judged, now_ms: number): RotationState {
  const { whole, old, replacement, refusedSinceRevoke } = evidence
  if (!whole) return 'unknown'
  const use =
    replacement && deploymentOf(replacement, { ...judged, oldUsedAt_ms: old.lastUsedAt_ms ?? 0 }, now_ms)
  if (old.revoked) return refusedSinceRevoke > 0 ? 'refused' : use === 'in_use' ? 'complete' : 'revoked'
  if (use === undefined) return 'no_replacement'
  if (use === 'not_deployed' || use === 'trial') return use
  if (old.lastUsedAt_ms === undefined) return 'unused'
  if (now_ms - old.lastUsedAt_ms < TOKEN_LIFE_MS) return 'in_use'
  if (judged.safeFrom_ms === undefined) return 'no_rhythm'
  if (use === 'silent') return 'replacement_silent'
  return now_ms < judged.safeFrom_ms ? 'waiting' : 'safe'
}

/** Whether the replacement has taken over: it must go on, or have come when the old client was expected. */
function deploymentOf(
  replacement: NonNullable<RotationEvidence['replacement']>,
  { longestGap_ms = 0, expectedNextUseAt_ms = Infinity, oldUsedAt_ms }: Judged & { oldUsedAt_ms: number },
  now_ms: number,
): 'not_deployed' | 'trial' | 'silent' | 'in_use' {
  const { lastUsedAt_ms, days, createdAt_ms, secretPutAwayAt_ms } = replacement
  if (lastUsedAt_ms === undefined) return 'not_deployed'
  const counted_ms = secretPutAwayAt_ms ?? createdAt_ms + TRIAL_MS
  if (lastUsedAt_ms < counted_ms) return 'trial'
  const earliest_ms = oldUsedAt_ms + (expectedNextUseAt_ms - oldUsedAt_ms) * 0.75
  const expected = longestGap_ms >= HOUR_MS && lastUsedAt_ms >= earliest_ms
  if (!expected && stretchOf(replacement, counted_ms) < TOKEN_LIFE_MS) return 'trial'
  const own = days.filter(({ firstUsedAt_ms }) => firstUsedAt_ms >= counted_ms)
  // The gap that ended on the first of these days began with the trials.
  const ownGap_ms = own.length > 2 ? Math.max(...own.slice(1).map((day) => day.longestGap_ms)) : longestGap_ms
  return now_ms - lastUsedAt_ms <= withQuarter(ownGap_ms) ? 'in_use' : 'silent'
}

/** How long a client has certainly gone on since then. */
function stretchOf({ days, hours, minutes, lastUsedAt_ms = 0 }: UseEvidence, since_ms: number): number {
  const within = (uses_ms: readonly number[], width_ms: number) =>
    uses_ms.filter((at_ms) => at_ms >= since_ms).map((at_ms) => at_ms + width_ms)
  const firstUsedOf = days.map(({ firstUsedAt_ms }) => firstUsedAt_ms)
  const ends_ms = [within(firstUsedOf, MINUTE_MS), within(hours, HOUR_MS), within(minutes, MINUTE_MS)]
  return lastUsedAt_ms - Math.min(...ends_ms.flat())
}

/** When it was next used after this hour a week ago, a week later; at the latest after the longest gap. */
function expectedAfter(lastUsedAt_ms: number, hours: readonly number[], longestGap_ms: number): number {
  const latest_ms = lastUsedAt_ms + longestGap_ms
  const lastHour_ms = lastUsedAt_ms - (lastUsedAt_ms % HOUR_MS)
  const again_ms = hours.find((hour_ms) => hour_ms > lastHour_ms - WEEK_MS)
  if (again_ms === undefined || longestGap_ms < HOUR_MS || longestGap_ms > WEEK_MS) return latest_ms
  return Math.min(latest_ms, again_ms + WEEK_MS + (lastUsedAt_ms - lastHour_ms))
}

function addressIn(
  { whole, old, replacement, refusedAddresses, restoredAt_ms = 0 }: RotationEvidence,
  one: AddressOfUse,
  now_ms: number,
): AddressInRotation {
  const { address, seenAt_ms } = one
  const allowed_ms = rhythmOfAddress(one)?.allowed_ms ?? ONCE_MS
  const due = !old.revoked && now_ms < Math.max(seenAt_ms, restoredAt_ms) + allowed_ms
  const refusedAt_ms = refusedAddresses.get(address)
  const there = replacement?.addresses.find((other) => other.address === address)
  const changed = there !== undefined && there.seenAt_ms > (refusedAt_ms ?? seenAt_ms)
  const ahead = due || refusedAt_ms !== undefined
  const move = !whole || changed === ahead ? 'unknown' : changed ? 'moved' : 'not_yet'
  return { address, lastUsedAt_ms: seenAt_ms, move, due }
}
