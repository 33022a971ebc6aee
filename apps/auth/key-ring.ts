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
  /** Reads the table every 15 s from now on, every second while nothing can sign. */
  poll(): void
  close(): void
}

const NONE_OPENS =
  'No signing key can be decrypted. Is KEY_ENCRYPTION_KEY the one that they were stored with?'

/** Private keys, decrypted once and kept for as long as they are published. */
function createOpenedKeys(encryptionKey: SigningKeyOptions['encryptionKey'], log: Log) {
  const opened = new Map<string, TokenKey>()

  function open(key: StoredSigningKey): TokenKey {
    const { kid, alg } = key
    const known = opened.get(kid) ?? createTokenKey({ kid, alg, ...openSigningKey(key, encryptionKey) })
    opened.set(kid, known)
    return known
  }

  return {
    open,
    isReadable(key: StoredSigningKey): boolean {
      try {
        open(key)
        return true
      } catch (error) {
        if (!(error instanceof SigningKeyUnreadable)) throw error
        log.error({ event: 'signing_key.unreadable', kid: key.kid }, error.message)
        return false
      }
    },
    keepOnly(keys: readonly TokenKey[]): void {
      for (const [kid, key] of opened) if (!keys.includes(key)) opened.delete(kid)
    },
  }
}

export function createKeyRing({
  db,
  log,
  ...options
}: SigningKeyOptions & { db: Database; log: Log }): KeyRing {
  const { clock } = options
  const { open, isReadable, keepOnly } = createOpenedKeys(options.encryptionKey, log)
  let signer: TokenKey | undefined
  let published: readonly TokenKey[] = []
  let jwks: string | undefined
  let stored: readonly StoredSigningKey[] = []
  let unreadable: ReadonlySet<string> = new Set()
  let loading: Promise<void> | undefined
  let attemptedAt_ms = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  /** Derives the keys' states from what is stored and the current time. */
  function apply(): void {
    const live = liveKeys(stored, clock.now())
    const active = live.find(({ state }) => state === 'active')
    const before = signer?.kid
    signer = active && open(active.key)
    published = live.map(({ key }) => open(key))
    jwks = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) })
    keepOnly(published)
    if (signer?.kid !== before) log.info({ event: 'signing_key.active', kid: signer?.kid }, 'signing key')
  }

  async function read(): Promise<void> {
    const closed = new Set<string>()
    let usable = await ensureSigningKeys(db, options)
    // A row that cannot be decrypted was written without the key encryption key, or this process has the wrong one.
    for (let left = -1; left !== usable.length; ) {
      left = usable.length
      const live = liveKeys(usable, clock.now())
      if (!live.some(({ state }) => state === 'active')) throw new SigningKeyUnreadable(NONE_OPENS)
      for (const { key } of live) if (!isReadable(key)) closed.add(key.kid)
      usable = usable.filter(({ kid }) => !closed.has(kid))
    }
    stored = usable
    unreadable = closed
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
      const known = () => published.find((key) => key.kid === kid)
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
      timer = setInterval(() => {
        const every_ms = signer ? POLL_MS : POLL_UNABLE_MS
        if (performance.now() - attemptedAt_ms >= every_ms) void attempt()
      }, POLL_UNABLE_MS).unref()
    },
    close: () => clearInterval(timer),
  }
}

const liveKeys = (keys: readonly StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).filter(({ state }) => state !== 'gone' && state !== 'revoked')
