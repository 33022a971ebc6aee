import {
  ensureSigningKeys,
  openSigningKey,
  type SigningKeyOptions,
  type SigningKeyState,
  SigningKeyUnreadable,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createTokenKey, type TokenKey } from './access-token.ts'

/** A retired key is still good, so a rotation need not be noticed quickly. */
const POLL_MS = 15_000
/** While nothing can sign. */
const POLL_UNABLE_MS = 1_000
const READ_FOR_UNKNOWN_EVERY_MS = 1_000

/** The signing keys of this process: one that signs, and all that are published. */
export interface KeyRing {
  /** undefined until the first load. */
  signer(): TokenKey | undefined
  /** The JWK set (RFC 7517 §5) as JSON; undefined until the first load. */
  jwks(): string | undefined
  /** The usable keys in their current states; empty until the first load. */
  live(): { key: StoredSigningKey; state: SigningKeyState }[]
  /**
   * The key of this id that a live token may have been signed with. An id that is not known makes this process read
   * the table, at most once a second.
   * @returns `unreadable` when the table has such a key and this process cannot open it. Never rejects.
   */
  find(kid: string): Promise<TokenKey | 'unreadable' | undefined>
  /** Reads the table. @throws SigningKeyUnreadable when no stored key opens; whatever the database throws. */
  load(): Promise<void>
  /**
   * What signs instead of a key that was found to be revoked: the standby key, at once, even without Postgres.
   * @returns undefined when there is none and none can be made. Never rejects.
   */
  successorOf(kid: string): Promise<TokenKey | undefined>
  /** Reads the table every 15 s, every second while nothing can sign. @returns what ends that. */
  poll(): () => void
}

const NONE_OPENS =
  'No signing key can be decrypted. Is KEY_ENCRYPTION_KEY the one that they were stored with?'

export function createKeyRing({
  db,
  log,
  ...options
}: SigningKeyOptions & { db: Database; log: Log }): KeyRing {
  const { clock } = options
  let stored: readonly StoredSigningKey[] = []
  /** Those of `stored` that are published, decrypted once. */
  let opened: ReadonlyMap<string, TokenKey> = new Map()
  let unreadable: ReadonlySet<string> = new Set()
  let signer: TokenKey | undefined
  let jwks: string | undefined
  let loading: Promise<void> | undefined
  let attemptedAt_ms = Number.NEGATIVE_INFINITY

  /** Derives the keys' states from what is stored and the current time. */
  function apply(): void {
    const live = liveKeys(stored, clock.now())
    const published = live.flatMap(({ key }) => opened.get(key.kid) ?? [])
    const before = signer?.kid
    opened = new Map(published.map((key) => [key.kid, key]))
    signer = opened.get(live.find(({ state }) => state === 'active')?.key.kid ?? '')
    jwks = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) })
    if (signer?.kid !== before) log.info({ event: 'signing_key.active', kid: signer?.kid }, 'signing key')
  }

  async function read(): Promise<void> {
    const rows = await ensureSigningKeys(db, options)
    ;({ usable: stored, opened, unreadable } = openLive(rows, opened, { ...options, log }))
    apply()
  }

  const load = (): Promise<void> => {
    loading ??= read().finally(() => {
      loading = undefined
    })
    return loading
  }

  const attempt = async (): Promise<void> => {
    attemptedAt_ms = performance.now()
    try {
      await load()
    } catch (error) {
      log.warn({ event: 'signing_keys.not_read', error: (error as Error).message }, 'signing keys not read')
      if (stored.length > 0) apply()
    }
  }

  return {
    signer: () => signer,
    jwks: () => jwks,
    live: () => liveKeys(stored, clock.now()),
    load,
    async find(kid) {
      const known = () => opened.get(kid)
      if (!known() && performance.now() - attemptedAt_ms >= READ_FOR_UNKNOWN_EVERY_MS) await attempt()
      else if (!known()) await loading?.catch(() => {})
      return known() ?? (unreadable.has(kid) ? 'unreadable' : undefined)
    },
    async successorOf(kid) {
      if (signer?.kid === kid) {
        const revokedAt = new Date(clock.now())
        stored = stored.map((key) => (key.kid === kid ? { ...key, revokedAt } : key))
        apply()
        const reading = attempt()
        if (!signer) await reading
      }
      return signer
    },
    poll() {
      const timer = setInterval(() => {
        const every_ms = signer ? POLL_MS : POLL_UNABLE_MS
        if (performance.now() - attemptedAt_ms >= every_ms) void attempt()
      }, POLL_UNABLE_MS).unref()
      return () => clearInterval(timer)
    },
  }
}

/**
 * Opens every live key that is not in `known`. A row that cannot be decrypted was written without the key encryption
 * key, or this process has the wrong one: it counts for nothing, so without it the others may be in other states.
 * @throws SigningKeyUnreadable when none is left to sign.
 */
function openLive(
  rows: readonly StoredSigningKey[],
  known: ReadonlyMap<string, TokenKey>,
  { clock, encryptionKey, log }: Pick<SigningKeyOptions, 'clock' | 'encryptionKey'> & { log: Log },
) {
  const opened = new Map(known)
  const unreadable = new Set<string>()
  for (let usable = rows; ; usable = usable.filter(({ kid }) => !unreadable.has(kid))) {
    const live = liveKeys(usable, clock.now())
    if (!live.some(({ state }) => state === 'active')) throw new SigningKeyUnreadable(NONE_OPENS)
    const before = unreadable.size
    for (const { key } of live.filter(({ key }) => !opened.has(key.kid))) {
      const { kid, alg } = key
      try {
        opened.set(kid, createTokenKey({ kid, alg, ...openSigningKey(key, encryptionKey) }))
      } catch (error) {
        if (!(error instanceof SigningKeyUnreadable)) throw error
        log.error({ event: 'signing_key.unreadable', kid }, error.message)
        unreadable.add(kid)
      }
    }
    if (unreadable.size === before) return { usable, opened, unreadable }
  }
}

const liveKeys = (keys: readonly StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).filter(({ state }) => state !== 'gone' && state !== 'revoked')
