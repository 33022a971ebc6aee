import { createPublicKey } from 'node:crypto'
import {
  type EncryptionKeys,
  ensureSigningKeys,
  openSigningKey,
  type SigningAlg,
  SigningKeyUnreadable,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createTokenSigner, type TokenSigner, type VerificationKey } from './access-token.ts'

/** A retired key is still good, so a rotation need not be noticed quickly. */
const POLL_MS = 15_000
/** While nothing can sign. */
const POLL_UNABLE_MS = 1_000
const READ_FOR_UNKNOWN_EVERY_MS = 1_000

/** The signing keys of this process: one that signs, and all that are published. */
export interface KeyRing {
  /** undefined until the first load. */
  signer(): TokenSigner | undefined
  /** The JWK set (RFC 7517 §5) as JSON; undefined until the first load. */
  jwks(): string | undefined
  /**
   * The key of this id that a live token may have been signed with. An id that is not known makes this process read
   * the table, at most once a second.
   * @returns `unreadable` when the table has such a key and this process cannot open it. Never rejects.
   */
  find(kid: string): Promise<VerificationKey | 'unreadable' | undefined>
  /** Reads the table. @throws SigningKeyUnreadable when no stored key opens; whatever the database throws. */
  load(): Promise<void>
  /**
   * What signs instead of a key that was found to be revoked: the standby key, at once, even without Postgres.
   * @returns undefined when there is none and none can be made. Never rejects.
   */
  successorOf(kid: string): Promise<TokenSigner | undefined>
  /** Reads the table every 15 s from now on, every second while nothing can sign. */
  poll(): void
  close(): void
}

const NONE_OPENS =
  'No signing key can be decrypted. Is KEY_ENCRYPTION_KEY the one that they were stored with?'

interface KeyRingDependencies {
  db: Database
  clock: Clock
  log: Log
  alg: SigningAlg
  encryptionKey: EncryptionKeys
}

interface OpenedKey {
  signer: TokenSigner
  verification: VerificationKey
}

/** Private keys, decrypted once and kept for as long as they are published. */
function createOpenedKeys(encryptionKey: EncryptionKeys, log: Log) {
  const opened = new Map<string, OpenedKey>()

  function open(key: StoredSigningKey): OpenedKey {
    const known = opened.get(key.kid)
    if (known) return known
    const { kid } = key
    const { privateKey, publicJwk } = openSigningKey(key, encryptionKey)
    const verification = { kid, alg: key.alg, publicKey: createPublicKey(privateKey), publicJwk }
    const entry = { signer: createTokenSigner({ kid, alg: key.alg, privateKey }), verification }
    opened.set(kid, entry)
    return entry
  }

  return {
    open,
    readable(key: StoredSigningKey): boolean {
      try {
        open(key)
        return true
      } catch (error) {
        if (!(error instanceof SigningKeyUnreadable)) throw error
        log.error({ event: 'signing_key.unreadable', kid: key.kid }, error.message)
        return false
      }
    },
    keepOnly(kids: ReadonlySet<string>): void {
      for (const kid of opened.keys()) if (!kids.has(kid)) opened.delete(kid)
    },
  }
}

export function createKeyRing({ db, clock, log, alg, encryptionKey }: KeyRingDependencies): KeyRing {
  const { open, readable, keepOnly } = createOpenedKeys(encryptionKey, log)
  let signer: TokenSigner | undefined
  let published: readonly VerificationKey[] = []
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
    signer = active && open(active.key).signer
    published = live.map(({ key }) => open(key).verification)
    jwks = JSON.stringify({ keys: published.map(({ publicJwk }) => publicJwk) })
    keepOnly(new Set(published.map(({ kid }) => kid)))
    if (signer?.kid !== before) log.info({ event: 'signing_key.active', kid: signer?.kid }, 'signing key')
  }

  async function read(): Promise<void> {
    const closedKids = new Set<string>()
    let usable = await ensureSigningKeys(db, { alg, encryptionKey, clock })
    // A row that cannot be decrypted was written without the key encryption key, or this process has the wrong one.
    for (;;) {
      const live = liveKeys(usable, clock.now())
      if (!live.some(({ state }) => state === 'active')) throw new SigningKeyUnreadable(NONE_OPENS)
      const closed = new Set(live.map(({ key }) => key).filter((key) => !readable(key)))
      if (closed.size === 0) break
      for (const { kid } of closed) closedKids.add(kid)
      usable = usable.filter((key) => !closed.has(key))
    }
    stored = usable
    unreadable = closedKids
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

const liveKeys = (keys: readonly StoredSigningKey[], now: number) =>
  signingKeyStates(keys, now).filter(({ state }) => state !== 'gone' && state !== 'revoked')
