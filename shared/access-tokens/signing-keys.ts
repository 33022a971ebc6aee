import { type CryptoKey, importJWK, type JWK } from 'jose'
import { fetchDocument, fetchFailure } from './fetch-document.ts'

/** What a token may be signed with. Symmetric algorithms and `none` can never be in a public key set. */
const ALGORITHMS: ReadonlySet<string> = new Set(['ES256', 'RS256'])
const HEADERS = { accept: 'application/json, application/jwk-set+json', 'accept-encoding': 'identity' }
const FETCH_TIMEOUT_MS = 3_000
const DOCUMENT_LIMIT_BYTES = 256 * 1_024
/** The authorization server publishes a key long before it signs with it. */
const REFRESH_EVERY_MS = 300_000
const RETRY_FIRST_EVERY_MS = 1_000
const RETRY_EVERY_MS = 30_000
/** Unknown kids cause a fetch this often, whether or not the last one worked. */
const UNKNOWN_KID_EVERY_MS = 10_000
/** This many in a row after a quiet time: after two revocations, a key signs that no refresh has seen. */
const UNKNOWN_KID_BURST = 3
/** How long the keys of the last good fetch are trusted while the authorization server is unreachable. */
const STALE_BOUND_MS = 24 * 3_600_000

export interface SigningKey {
  kid: string
  alg: string
  publicKey: CryptoKey
}

export interface SigningKeys {
  /** Loads the set, and then keeps it fresh. Resolves after the first try, whether or not it worked. */
  start(): Promise<void>
  stop(): void
  /** Whether there is a key set that may still be trusted. */
  usable(): boolean
  /** The key as it is known now, without fetching. */
  known(kid: string): SigningKey | undefined
  /**
   * The key; if it is not known yet, it is fetched, unless that was done too often lately. Never rejects.
   * Returns `unknown` if a set fetched in the last 10 s lacks it: a key is published long before it signs.
   * `undecided` when no fetch worked in that time.
   */
  find(kid: string): Promise<SigningKey | 'unknown' | 'undecided'>
  /**
   * Fetches the set for a key in it that was revoked, once, however often unknown kids caused a fetch lately:
   * a standby key was published in its place, and may sign soon.
   */
  revoked(kid: string): void
}

/**
 * The public keys of the authorization server, by its JWK set (RFC 7517 §5), which is fetched from `url`.
 * @param options.log warned of each fetch that failed.
 * @param options.timeout_ms what a fetch may take.
 * @param options.refreshEvery_ms the time from a fetch that worked to the next.
 */
export function createSigningKeys(options: {
  url: string
  clock?: { now(): number }
  log?: { warn(fields: object, text: string): void }
  timeout_ms?: number | undefined
  refreshEvery_ms?: number
}): SigningKeys {
  const { url, clock = Date, timeout_ms = FETCH_TIMEOUT_MS, refreshEvery_ms = REFRESH_EVERY_MS } = options
  const { log = { warn: (fields, text) => console.warn(text, fields) } } = options
  let keys: ReadonlyMap<string, { key: SigningKey; source: string }> = new Map()
  let loadedAt_ms: number | undefined
  const mayFetchUnknown = createAllowance(clock)
  const seenRevoked = new Set<string>()
  let running: Promise<boolean> | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const age_ms = () => clock.now() - (loadedAt_ms ?? Number.NEGATIVE_INFINITY)
  const usable = () => age_ms() < STALE_BOUND_MS
  const known = (kid: string) => (usable() ? keys.get(kid)?.key : undefined)

  /** One fetch at a time. Returns whether it brought a usable set. */
  function refresh(): Promise<boolean> {
    running ??= load().finally(() => {
      running = undefined
    })
    return running
  }

  async function load(): Promise<boolean> {
    const startedAt_ms = clock.now()
    try {
      const limits = { limit_bytes: DOCUMENT_LIMIT_BYTES, timeout_ms }
      const { text } = await fetchDocument(url, { headers: HEADERS, ...limits })
      keys = await importKeys(JSON.parse(text), keys)
      loadedAt_ms = startedAt_ms
      return true
    } catch (error) {
      log.warn(
        { event: 'signing_keys.not_fetched', url, reason: fetchFailure(error), usable: usable() },
        'the signing keys could not be fetched',
      )
      return false
    }
  }

  async function keepFresh(): Promise<void> {
    const fresh = await refresh()
    if (stopped) return
    const retry_ms = loadedAt_ms === undefined ? RETRY_FIRST_EVERY_MS : RETRY_EVERY_MS
    timer = setTimeout(keepFresh, fresh ? refreshEvery_ms : retry_ms)
    timer.unref()
  }

  return {
    start: keepFresh,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
    usable,
    known,
    async find(kid) {
      const key = known(kid)
      if (key) return key
      // A fetch that began before this token came may miss its key.
      if (running) await running
      if (!known(kid) && (running || mayFetchUnknown())) await refresh()
      return known(kid) ?? (Math.abs(age_ms()) < UNKNOWN_KID_EVERY_MS ? 'unknown' : 'undecided')
    },
    revoked(kid) {
      if (!known(kid) || seenRevoked.has(kid)) return
      seenRevoked.add(kid)
      // A fetch under way may have begun before the revocation.
      void Promise.resolve(running).then(refresh)
    },
  }
}

/** Allows UNKNOWN_KID_BURST calls, and one more each UNKNOWN_KID_EVERY_MS since. */
function createAllowance(clock: { now(): number }): () => boolean {
  /** When the whole burst is allowed again. */
  let full_ms = Number.NEGATIVE_INFINITY
  return () => {
    const now_ms = clock.now()
    const next_ms = Math.max(full_ms, now_ms) + UNKNOWN_KID_EVERY_MS
    const latest_ms = now_ms + UNKNOWN_KID_BURST * UNKNOWN_KID_EVERY_MS
    const allowed = next_ms <= latest_ms
    // If the clock was set back, it is not waited for.
    full_ms = allowed ? next_ms : Math.min(full_ms, latest_ms)
    return allowed
  }
}

/**
 * Keys that do not verify one of our algorithms are left out. A key that has not changed stays the same
 * object, so that what was verified with it need not be verified again.
 * @throws Error when there is none, so that an empty or broken document does not replace a good one.
 */
async function importKeys(
  document: { keys?: unknown } | null,
  before: ReadonlyMap<string, { key: SigningKey; source: string }>,
): Promise<Map<string, { key: SigningKey; source: string }>> {
  const published = document?.keys
  if (!Array.isArray(published)) throw new Error('is no key set')
  const result = new Map<string, { key: SigningKey; source: string }>()
  for (const jwk of published as (JWK | null)[]) {
    const { kid, alg, use, d } = jwk ?? {}
    const isUsable =
      typeof alg === 'string' && ALGORITHMS.has(alg) && (use ?? 'sig') === 'sig' && d === undefined
    if (!isUsable || typeof kid !== 'string' || kid === '' || result.has(kid)) continue
    const source = JSON.stringify(jwk)
    const earlier = before.get(kid)
    if (earlier?.source === source) {
      result.set(kid, earlier)
      continue
    }
    const publicKey = await importJWK(jwk as JWK, alg).catch(() => undefined)
    if (publicKey instanceof CryptoKey && publicKey.type === 'public')
      result.set(kid, { key: { kid, alg, publicKey }, source })
  }
  if (result.size === 0) throw new Error('holds no usable key')
  return result
}
