import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { duration, near, onDay, relative } from '../api/time.ts'

export type RotationState = ClientRotation['state']
/** What the old client authenticates with. */
type Credential = 'key' | 'secret'
export type StepState = 'done' | 'now' | 'later'

/** What a lane says, and in which tone. */
export interface Said {
  tone: 'good' | 'warn' | 'waiting' | 'idle'
  said: string
}

interface StateWords {
  /** Beside the old client in the list. */
  mark: string
  steps: { deploy: StepState; watch: StepState; revoke: StepState }
  /** Each client's lane; its status if the state says nothing of it. */
  old?: Said
  replacement?: Said
  /** The title of the warning before it is revoked, or after. */
  warning?: string
  /** Whether arming helps: use now would disarm it, without a rhythm it never fires, and what is safe can be revoked. */
  arms?: true
  sentence: (rotation: ClientRotation, now: Date) => string
}

const NOT_DEPLOYED = { deploy: 'now', watch: 'later', revoke: 'later' } as const
const WATCHED = { deploy: 'done', watch: 'now', revoke: 'later' } as const
const MAY_BE_USED = 'It may still be in use'
const NOT_KNOWN = 'It is not known whether it is in use'
const IN_USE: Said = { tone: 'good', said: 'In use' }

/** What each state of the service's judgement means for a person. Nothing is judged here. */
export const STATE_WORDS: Readonly<Record<RotationState, StateWords>> = {
  unknown: {
    mark: 'Usage unknown',
    steps: { deploy: 'later', watch: 'later', revoke: 'later' },
    old: { tone: 'idle', said: 'Usage unknown' },
    replacement: { tone: 'idle', said: 'Usage unknown' },
    warning: NOT_KNOWN,
    sentence: () =>
      'The usage of these clients cannot be read right now, so it is unknown whether a system still needs the old one.',
  },
  no_replacement: {
    mark: 'Not replaced',
    steps: { deploy: 'later', watch: 'later', revoke: 'later' },
    sentence: () => 'No Active client replaces it.',
  },
  not_deployed: {
    mark: 'Not deployed yet',
    steps: NOT_DEPLOYED,
    replacement: { tone: 'waiting', said: 'No token request yet' },
    warning: MAY_BE_USED,
    arms: true,
    sentence: () => 'The replacement has never got a token. Whatever uses the old client would stop working.',
  },
  trial: {
    mark: 'Tested, not deployed',
    steps: NOT_DEPLOYED,
    replacement: { tone: 'waiting', said: 'Test requests only so far' },
    warning: MAY_BE_USED,
    arms: true,
    sentence: () =>
      'The replacement got tokens only while its secret was shown, or in one short stretch. Whatever uses the old client would stop working.',
  },
  in_use: {
    mark: 'Still in use',
    steps: WATCHED,
    old: { tone: 'warn', said: 'In use now' },
    warning: MAY_BE_USED,
    sentence: ({ lastUsedAt }, now) =>
      `The old client got a token ${lastUsedAt === null ? 'just now' : relative(new Date(lastUsedAt), now)}. The system that uses it would stop working.`,
  },
  unused: {
    mark: 'Old client never used',
    steps: WATCHED,
    old: { tone: 'idle', said: 'Never used' },
    sentence: () =>
      'The old client has never got a token. Check that no system is about to use it before you revoke it.',
  },
  no_rhythm: {
    mark: 'No rhythm known',
    steps: WATCHED,
    old: { tone: 'warn', said: 'No rhythm known' },
    warning: NOT_KNOWN,
    sentence: noRhythm,
  },
  replacement_silent: {
    mark: 'Replacement overdue',
    steps: WATCHED,
    replacement: { tone: 'warn', said: 'No requests for longer than expected' },
    warning: MAY_BE_USED,
    arms: true,
    sentence: () =>
      'The replacement has got no token for longer than expected. Check that it is still deployed and working.',
  },
  waiting: {
    mark: 'May still be used',
    steps: WATCHED,
    old: { tone: 'warn', said: 'Next use may be ahead' },
    replacement: IN_USE,
    warning: MAY_BE_USED,
    arms: true,
    sentence: waiting,
  },
  safe: {
    mark: 'Safe to revoke',
    steps: { deploy: 'done', watch: 'done', revoke: 'now' },
    old: { tone: 'idle', said: 'No longer used' },
    replacement: IN_USE,
    sentence: (rotation, now) =>
      `The replacement is in use. The old client got its last token${lastUse(rotation, now)} and has paused for longer than ever before${pause(rotation)}.`,
  },
  refused: {
    mark: 'Refused',
    steps: { deploy: 'now', watch: 'later', revoke: 'done' },
    old: { tone: 'warn', said: 'Revoked, and still used' },
    sentence: () => 'A system still uses the revoked client. Deploy the replacement there.',
  },
  revoked: {
    mark: 'Revoked',
    warning: 'It is not known whether a replacement is in use',
    steps: { deploy: 'now', watch: 'later', revoke: 'done' },
    old: { tone: 'idle', said: 'Revoked' },
    sentence: () => 'The old client is revoked. Nothing shows that a replacement is in use.',
  },
  complete: {
    mark: 'Complete',
    steps: { deploy: 'done', watch: 'done', revoke: 'done' },
    old: { tone: 'idle', said: 'Revoked' },
    replacement: IN_USE,
    sentence: () =>
      'The rotation is complete: the old client is revoked, none of its requests were refused in the last 24 hours, and the replacement is in use.',
  },
}

/** What the service's judgement means, in a sentence or two. */
export const sentenceOf = (rotation: ClientRotation, now: Date): string =>
  STATE_WORDS[rotation.state].sentence(rotation, now)

const lastUse = ({ lastUsedAt }: ClientRotation, now: Date): string =>
  lastUsedAt === null ? '' : ` on ${near(new Date(lastUsedAt), now)}`

const pause = ({ longestGapSeconds }: ClientRotation): string =>
  longestGapSeconds === null ? '' : ` (${duration(longestGapSeconds)})`

function noRhythm({ evidenceSince, lastUsedAt }: ClientRotation, now: Date): string {
  if (evidenceSince === null || lastUsedAt === null) return 'No rhythm known: its uses are not known.'
  const [from, to] = [near(new Date(evidenceSince), now), near(new Date(lastUsedAt), now)]
  return from === to
    ? `No rhythm known: its only known use was on ${to}. Check yourself that no system needs it.`
    : `No rhythm known: its uses from ${from} to ${to} do not show when the next one comes. Check yourself that no system needs it.`
}

function waiting(rotation: ClientRotation, now: Date): string {
  const { expectedNextUseAt, safeFrom } = rotation
  const last = `The old client got its last token${lastUse(rotation, now)} and has paused for up to ${duration(rotation.longestGapSeconds ?? 0)} before.`
  const expected =
    expectedNextUseAt !== null && Date.parse(expectedNextUseAt) > now.getTime()
      ? ` Its next use is expected by ${near(new Date(expectedNextUseAt), now)}.`
      : ''
  return safeFrom === null
    ? last + expected
    : `${last}${expected} If it is not used until ${near(new Date(safeFrom), now)}, it is safe to revoke.`
}

/** What would fail if the client was revoked now. */
export function rehearsed(rotation: ClientRotation): string {
  const { state, lastUsedAt, longestGapSeconds, ifRevokedNow } = rotation
  const { addresses, tokensAnHour } = ifRevokedNow
  if (state === 'unknown') return 'If revoked now: unknown. Its usage cannot be read.'
  if (lastUsedAt === null) return 'If revoked now: no known use would fail. It has never got a token.'
  if (addresses > 0)
    return `If revoked now: ${addresses} ${addresses === 1 ? 'address' : 'addresses'}, ${rate(tokensAnHour)} would fail`
  return longestGapSeconds === null
    ? 'If revoked now: no known use would fail, but no rhythm is known of it'
    : 'If revoked now: no known use would fail'
}

function rate(anHour: number): string {
  const [count, unit] = anHour < 1 ? [anHour * 24, 'a day'] : [anHour, 'an hour']
  const tokens = Math.round(count)
  if (tokens === 0) return 'without a token in the last 24 hours,'
  return `about ${tokens.toLocaleString('en')} ${tokens === 1 ? 'token' : 'tokens'} ${unit}`
}

/** The service keeps refusals for so long. */
const REFUSALS_KEPT_MS = 86_400_000
const ADDRESSES_SAID = 3
const LIST = new Intl.ListFormat('en')

/** What fails now that the old client is revoked. @param userId of the person who reads it. */
export function refusedSince(
  { refusedSinceRevoke: count, refusedAddresses }: ClientRotation,
  old: OAuthClient,
  { credential, userId, now }: { credential: Credential; userId: string; now: Date },
): string {
  const by = old.revokedBy?.userId === userId ? 'you' : (old.revokedBy?.name ?? 'someone')
  const recent = Date.parse(old.revokedAt ?? '') > now.getTime() - REFUSALS_KEPT_MS
  const since = recent ? `since ${by} revoked it` : 'in the last 24 hours'
  const others = refusedAddresses.length - ADDRESSES_SAID
  const from = [
    ...refusedAddresses.slice(0, ADDRESSES_SAID),
    ...(others > 0 ? [`${others} more ${others === 1 ? 'address' : 'addresses'}`] : []),
  ]
  return `${count.toLocaleString('en')} ${count === 1 ? 'request' : 'requests'} with the old ${credential} ${count === 1 ? 'was' : 'were'} refused ${since}${from.length > 0 ? `, from ${LIST.format(from)}` : ''}`
}

/** The words of the button that arms the revocation. */
export function armingWords(
  { expectedNextUseAt, safeFrom }: ClientRotation,
  credential: Credential,
  now: Date,
): string {
  const ahead = (at: string | null) => at !== null && Date.parse(at) > now.getTime() && new Date(at)
  const expected = ahead(expectedNextUseAt)
  if (expected) return `Revoke when ${near(expected, now)} has passed without the old ${credential}`
  const safe = ahead(safeFrom)
  if (safe) return `Revoke at ${near(safe, now)} unless the old ${credential} is used`
  return 'Revoke as soon as the replacement is in use'
}

/** What an armed revocation waits for. */
export function armedWords(rotation: ClientRotation, now: Date): string {
  return `The service revokes the old client ${armedUntil(rotation, now)}. Any use of the old client before then cancels this.`
}

function armedUntil({ state, safeFrom }: ClientRotation, now: Date): string {
  if (state === 'safe') return 'within a few minutes'
  if (safeFrom === null) return 'once that is safe, at a time that is not known'
  return Date.parse(safeFrom) > now.getTime()
    ? `at ${near(new Date(safeFrom), now)} at the earliest, once the replacement is in use`
    : 'as soon as the replacement is in use'
}

/** "you on 22 Nov 2026 at 19:39". */
export const armedBy = ({ at, by }: NonNullable<ClientRotation['armed']>, userId: string): string =>
  `${by.userId === userId ? 'you' : by.name} ${onDay(new Date(at))}`
