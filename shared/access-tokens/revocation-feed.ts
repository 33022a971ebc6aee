import { createHash } from 'node:crypto'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { fetchDocument, fetchFailure } from './fetch-document.ts'
import type { SigningKeys } from './signing-keys.ts'

const POLL_EVERY_MS = 1_000
/** The share of it by which a poll may come early, so that verifiers do not poll in step. */
const JITTER = 0.2
const TIMEOUT_MS = 3_000
/** Uncompressed: more than three hundred thousand revocations. */
const PAGE_LIMIT_BYTES = 8 * 1_024 * 1_024
/** A copy older than this decides nothing. */
const COPY_LIFE_MS = 10_000
/** How far the issuer's clock may be from this one. */
const CLOCK_SKEW_S = 130
/** How much faster than the issuer's a clock may go. Quartz that nothing corrects is ten times as exact. */
const DRIFT = 0.001
const DIGEST_BYTES = 12
const DIGEST_CHARACTERS = 16
const KINDS = ['client', 'key', 'token'] as const

type Kind = (typeof KINDS)[number]

/** The revocations of a page, each as the digest of its id. */
type Revoked = Record<Kind, ReadonlySet<string>>

interface Copy {
  revoked: Revoked
  iat: number
  /**
   * Every revocation answered a second before this moment is in the copy. (The server shares a page for a
   * second.) By the monotonic clock, and by the wall clock.
   */
  completeUntil_ms: number
  wallUntil_ms: number
}

/** A local copy of the revocations page of the authorization server. */
export interface RevocationFeed {
  /** Fetches the page at once, then each second. Resolves after the first try, whether or not it worked. */
  start(): Promise<void>
  stop(): void
  /** Whether there is a copy that is young enough to decide. */
  usable(): boolean
  /** Whether the client, the signing key or the token was revoked. `undecided` while no copy is usable. */
  ask(subject: {
    clientId: string
    kid: string
    jti: string
  }): Promise<'live' | 'undecided' | { revoked: Kind }>
}

/**
 * Polls the revocations page at `url` (`{issuer}/v1/oauth/revocations`), so that asking costs no request. A
 * token is refused at most 3 seconds after its revocation was answered. Without the page for 10 seconds,
 * every answer is `undecided`.
 * @param options.keys the issuer's signing keys, which verify a page as they verify a token.
 * @param options.clock wall clock, compared with the page's `iat`.
 * @param options.monotonic milliseconds that only ever go forward. Ages count by it and the wall clock.
 * @param options.log warned when polling begins to fail, and when the reason changes.
 * @param options.timeout_ms how long a poll may take; the next one begins after it.
 * @param options.pollEvery_ms the longest time from the start of a poll to the start of the next.
 */
export function createRevocationFeed(options: {
  url: string
  issuer: string
  keys: Pick<SigningKeys, 'find'>
  clock?: { now(): number }
  monotonic?: () => number
  log?: { warn(fields: object, text: string): void }
  timeout_ms?: number
  pollEvery_ms?: number
}): RevocationFeed {
  const { url, issuer, keys, clock = Date, monotonic = () => performance.now() } = options
  const { timeout_ms = TIMEOUT_MS, pollEvery_ms = POLL_EVERY_MS } = options
  const { log = { warn: (fields, text) => console.warn(text, fields) } } = options
  // One for each poll: Node 20 remembers every signal that was derived from a lasting one.
  let polling = new AbortController()
  let stopped = false
  const madeAt_ms = createArrivals()
  let copy: Copy | undefined
  let failure: string | undefined
  let timer: NodeJS.Timeout | undefined

  // The larger age counts: the wall clock can be set back, the other stops while the machine is suspended.
  const age_ms = (of: Copy) => Math.max(monotonic() - of.completeUntil_ms, clock.now() - of.wallUntil_ms)
  const usable = () => copy !== undefined && age_ms(copy) <= COPY_LIFE_MS

  async function poll(): Promise<void> {
    // The page was made after this moment, unless a cache says otherwise.
    const [sentAt_ms, sentAtWall_ms] = [monotonic(), clock.now()]
    polling = new AbortController()
    const { text, headers } = await fetchDocument(url, {
      headers: { accept: 'application/jwt' },
      limit_bytes: PAGE_LIMIT_BYTES,
      timeout_ms,
      signal: polling.signal,
    })
    const receivedAt_ms = monotonic()
    const cached_ms = parseAge(headers) * 1_000
    const content = await readPage(text, copy, { issuer, keys, clock })
    const late_ms = sentAt_ms - madeAt_ms(content.iat, receivedAt_ms)
    const old_ms = Math.max(cached_ms, late_ms)
    const page = { ...content, completeUntil_ms: sentAt_ms - old_ms, wallUntil_ms: sentAtWall_ms - old_ms }
    const { iat = page.iat } = copy ?? {}
    copy = newer(copy, page)
    if (page.iat < iat) throw new Error('is older than the page before')
    if (late_ms > COPY_LIFE_MS) throw new Error('arrives later than pages did before')
  }

  async function keepFresh(): Promise<void> {
    const startedAt_ms = performance.now()
    const reason = await poll().then(() => undefined, fetchFailure)
    if (stopped) return
    if (reason !== undefined && reason !== failure)
      log.warn(
        { event: 'revocations.not_fetched', url, reason, usable: usable() },
        'the revocations page could not be used',
      )
    failure = reason
    const due_ms = startedAt_ms + pollEvery_ms * (1 - Math.random() * JITTER)
    timer = setTimeout(keepFresh, Math.max(0, due_ms - performance.now()))
    timer.unref()
  }

  return {
    start: keepFresh,
    stop() {
      stopped = true
      polling.abort()
      clearTimeout(timer)
    },
    usable,
    async ask({ clientId, kid, jti }) {
      if (!copy || !usable()) return 'undecided'
      const ids = { client: clientId, key: kid, token: jti }
      const { revoked } = copy
      const revokedKind = KINDS.find((kind) => revoked[kind].has(digest(ids[kind])))
      return revokedKind ? { revoked: revokedKind } : 'live'
    },
  }
}

/**
 * Returns when a page was made, by the clock that counts ages: as long after its `iat` as the quickest page.
 * So a page that was held back counts as old, even if nothing says so and each page is held back as long.
 */
function createArrivals(): (iat_s: number, receivedAt_ms: number) => number {
  let soonest_ms = Number.POSITIVE_INFINITY
  let since_ms = 0
  return (iat_s, receivedAt_ms) => {
    const after_ms = receivedAt_ms - iat_s * 1_000
    soonest_ms = Math.min(after_ms, soonest_ms + (receivedAt_ms - since_ms) * DRIFT)
    since_ms = receivedAt_ms
    return iat_s * 1_000 + soonest_ms
  }
}

/** @throws Error for an Age (RFC 9111 §5.1) that is no number: such a page may be of any age. */
function parseAge(headers: { get(name: string): string | null }): number {
  const age = headers.get('age') ?? '0'
  if (!/^\d{1,9}$/.test(age)) throw new Error('has an Age that is not a number')
  return Number(age)
}

/**
 * Returns the copy after a further page. Only a page that is later by the issuer's clock and was complete
 * later by ours replaces the one before. Any other adds what it lists, since a revocation is final, and
 * proves nothing about age: it may be a replay, or come from a server whose clock is behind that of another.
 */
function newer(copy: Copy | undefined, page: Copy): Copy {
  if (!copy || (page.iat > copy.iat && page.completeUntil_ms >= copy.completeUntil_ms)) return page
  return { ...copy, revoked: union(copy.revoked, page.revoked) }
}

const union = (first: Revoked, second: Revoked): Revoked => ({
  client: new Set([...first.client, ...second.client]),
  key: new Set([...first.key, ...second.key]),
  token: new Set([...first.token, ...second.token]),
})

/**
 * Verifies a page. It rejects one that is not signed by a current key, or whose key the page itself or the
 * copy before lists as revoked: whoever stole a key may sign pages too.
 */
async function readPage(
  text: string,
  copy: Copy | undefined,
  { issuer, keys, clock }: { issuer: string; keys: Pick<SigningKeys, 'find'>; clock: { now(): number } },
): Promise<Pick<Copy, 'revoked' | 'iat'>> {
  const { kid = '' } = decodeProtectedHeader(text)
  const key = await keys.find(kid)
  if (typeof key === 'string') throw new Error('is signed with an unknown key')
  const { payload } = await jwtVerify(text, key.publicKey, {
    algorithms: [key.alg],
    typ: 'revocations+jwt',
    issuer,
    requiredClaims: ['iat'],
    currentDate: new Date(clock.now()),
  })
  const { iat = Number.NaN } = payload
  if (!(Math.abs(iat - clock.now() / 1_000) <= CLOCK_SKEW_S))
    throw new Error(`was made more than ${CLOCK_SKEW_S} s from this clock`)
  const revoked = {
    client: parseDigests(payload.clients),
    key: parseDigests(payload.keys),
    token: parseDigests(payload.tokens),
  }
  if (revoked.key.has(digest(kid)) || copy?.revoked.key.has(digest(kid)))
    throw new Error('is signed with a revoked key')
  return { revoked, iat }
}

/** @throws Error unless it is a list of digests: a page that cannot be read must not seem empty. */
function parseDigests(list: unknown): ReadonlySet<string> {
  const isDigest = (item: unknown) => typeof item === 'string' && item.length === DIGEST_CHARACTERS
  if (!Array.isArray(list) || !list.every(isDigest)) throw new Error('lacks a list of digests')
  return new Set(list)
}

const digest = (id: string): string =>
  createHash('sha256').update(id).digest().subarray(0, DIGEST_BYTES).toString('base64url')
