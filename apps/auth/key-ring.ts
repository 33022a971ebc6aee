import {
  decryptSigningKey,
  ensureSigningKeys,
  type SigningKeyOptions,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { TokenKey } from './token-key.ts'

const TIMES = {
  /** Finds a key that another process stored well within `fresh_ms`. */
  poll_ms: 5_000,
  /** Applies while no key can sign. */
  pollUnable_ms: 1_000,
  /** How long a key that a read did not find counts as unknown. */
  fresh_ms: 10_000,
  /** How long the key set waits for a new standby key after a withdrawal. */
  rereadWait_ms: 2_000,
}

/** What this process knows of the table. A snapshot is never changed, only replaced. */
interface Snapshot {
  /** The rows that can be decrypted. */
  readonly stored: readonly StoredSigningKey[]
  /** The published keys among them, decrypted once. */
  readonly byKid: ReadonlyMap<string, TokenKey>
  readonly unreadable: ReadonlySet<string>
  readonly signer?: TokenKey | undefined
  /** When the read of these keys started. NEVER_MS after a withdrawal, until the table is read again. */
  readonly readAt_ms: number
}

/** The signing keys of this process: one that signs, and all that are published. */
export type KeyRing = ReturnType<typeof createKeyRing>

const NEVER_MS = Number.NEGATIVE_INFINITY
const EMPTY: Snapshot = { stored: [], byKid: new Map(), unreadable: new Set(), readAt_ms: NEVER_MS }

/** Returns a key ring without keys, which reads nothing yet. Never throws. */
export function createKeyRing(parts: SigningKeyOptions & { db: Database; log: Log } & Partial<typeof TIMES>) {
  const { db, log, clock, poll_ms, pollUnable_ms, fresh_ms, rereadWait_ms } = { ...TIMES, ...parts }
  let snapshot = EMPTY
  let reading: Promise<void> | undefined
  let triedAt_ms = NEVER_MS
  /** The read that follows the latest withdrawal, or the end of the wait for it. */
  let reread: Promise<void> | undefined

  function setSnapshot(next: Snapshot): void {
    const kid = next.signer?.kid
    if (kid !== snapshot.signer?.kid) log.info({ event: 'signing_key.active', kid }, 'signing with this key')
    snapshot = next
  }

  async function load(): Promise<void> {
    const previous = snapshot
    const readAt_ms = performance.now()
    const rows = await ensureSigningKeys(db, parts)
    // A key was withdrawn meanwhile, and these rows may be older than its revocation. Another read follows.
    if (snapshot !== previous) return
    const next = snapshotAt(clock.now(), { ...openLive(rows, previous.byKid, parts), readAt_ms })
    for (const kid of next.unreadable)
      log.error({ event: 'signing_key.unreadable', kid }, 'the signing key cannot be decrypted')
    if (!next.signer) throw new ConfigError('KEY_ENCRYPTION_KEY decrypts no signing key that is stored')
    setSnapshot(next)
  }

  /** Reads the table unless that was tried within `every_ms`. Waits for a read in progress. Never rejects. */
  async function refresh(every_ms: number): Promise<void> {
    if (!reading && performance.now() - triedAt_ms >= every_ms) {
      triedAt_ms = performance.now()
      reading = load()
        .catch((error: Error) => {
          log.warn({ event: 'signing_keys.not_read', error: error.message }, 'signing keys not read')
          setSnapshot(snapshotAt(clock.now(), snapshot))
        })
        .finally(() => {
          reading = undefined
        })
    }
    await reading
  }

  return {
    signer: () => snapshot.signer,
    /**
     * Returns the JWK set (RFC 7517 §5) as JSON, undefined before the start. After a withdrawal it waits up
     * to 2 s for the table to be read again, so that the set has the new standby key. Never rejects.
     */
    async jwks() {
      await reread
      const { stored, byKid } = snapshot
      const keys = [...byKid.values()].map(({ publicJwk }) => publicJwk)
      return stored.length > 0 ? JSON.stringify({ keys }) : undefined
    },
    /** Returns the usable keys in their current states, none before the start. */
    live: () => liveKeys(snapshot.stored, clock.now()),
    /**
     * Returns the key of this id, undefined if a read of the last 10 s did not find it. `unreadable`: the key
     * cannot be decrypted, or the last good read is older or from before a withdrawal. Never waits, since a
     * stranger can name any key.
     */
    find(kid: string): TokenKey | 'unreadable' | undefined {
      const { byKid, unreadable, readAt_ms } = snapshot
      const isFresh = performance.now() - readAt_ms <= fresh_ms
      return byKid.get(kid) ?? (unreadable.has(kid) || !isFresh ? 'unreadable' : undefined)
    },
    /**
     * Withdraws a revoked key immediately, even without Postgres. Returns the standby key, which signs from
     * now on, or undefined if there is none and none can be created. Never rejects.
     */
    async withdraw(kid: string): Promise<TokenKey | undefined> {
      if (snapshot.byKid.has(kid)) {
        const revokedAt = new Date(clock.now())
        const stored = snapshot.stored.map((key) => (key.kid === kid ? { ...key, revokedAt } : key))
        setSnapshot(snapshotAt(clock.now(), { ...snapshot, stored, readAt_ms: NEVER_MS }))
        const nextRead = Promise.resolve(reading).then(() => refresh(0))
        reread = within(rereadWait_ms, nextRead)
        if (!snapshot.signer) await nextRead
      }
      return snapshot.signer
    },
    /** Reads the table. @throws ConfigError if no stored key can be decrypted, or the database's error. */
    start: load,
    /** Reads the table again if 5 s have passed or no key can sign. Call it about once a second. */
    poll: () => void refresh(snapshot.signer ? poll_ms : pollUnable_ms),
  }
}

/** Returns the snapshot that these keys make at this time: which are still published, and which one signs. */
function snapshotAt(now_ms: number, keys: Omit<Snapshot, 'signer'>): Snapshot {
  const live = liveKeys(keys.stored, now_ms)
  const published = live.flatMap(({ key }) => keys.byKid.get(key.kid) ?? [])
  const byKid = new Map(published.map((key) => [key.kid, key]))
  const activeKid = live.find(({ state }) => state === 'active')?.key.kid ?? ''
  return { ...keys, byKid, signer: byKid.get(activeKid) }
}

/**
 * Decrypts every live key that is not in `decrypted`. Rows that cannot be decrypted are ignored, which can
 * change the states of the others: this process, or whoever wrote them, has the wrong key encryption key.
 */
function openLive(
  rows: readonly StoredSigningKey[],
  decrypted: ReadonlyMap<string, TokenKey>,
  { clock, encryptionKey }: SigningKeyOptions,
) {
  const byKid = new Map(decrypted)
  const unreadable = new Set<string>()
  for (let stored = rows; ; stored = stored.filter(({ kid }) => !unreadable.has(kid))) {
    const pending = liveKeys(stored, clock.now()).filter(({ key }) => !byKid.has(key.kid))
    if (pending.length === 0) return { stored, byKid, unreadable }
    for (const { key } of pending) {
      const plainKey = decryptSigningKey(key, encryptionKey)
      if (plainKey) byKid.set(key.kid, new TokenKey(plainKey))
      else unreadable.add(key.kid)
    }
  }
}

const liveKeys = (keys: readonly StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).filter(({ state }) => state !== 'gone' && state !== 'revoked')
