import { setTimeout as sleep } from 'node:timers/promises'
import {
  dueStandby,
  ensureSigningKeys,
  openSigningKey,
  rotateWhenDue,
  type SigningKeyOptions,
  type StoredSigningKey,
  signingKeyStates,
} from '#shared/oauth/signing-keys.ts'
import { ConfigError } from '#shared/process/config.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { TokenKey } from './token-key.ts'

const TIMES = {
  /** A retired key is still good, so a rotation need not be noticed quickly. */
  poll_ms: 15_000,
  /** While nothing can sign, and for tokens whose key is not known. */
  pollUnable_ms: 1_000,
  /** How long the key set waits for the standby key that takes the place of a withdrawn key. */
  rereadWait_ms: 2_000,
}

/** The signing keys of this process: one that signs, and all that are published. */
export type KeyRing = ReturnType<typeof createKeyRing>

const NONE_OPENS =
  'No signing key can be decrypted. Is KEY_ENCRYPTION_KEY the one that they were stored with?'

export function createKeyRing(parts: SigningKeyOptions & { db: Database; log: Log } & Partial<typeof TIMES>) {
  const { db, log, clock, poll_ms, pollUnable_ms, rereadWait_ms } = { ...TIMES, ...parts }
  let stored: readonly StoredSigningKey[] = []
  /** Those of `stored` that are published, decrypted once. */
  let opened: ReadonlyMap<string, TokenKey> = new Map()
  let unreadable: ReadonlySet<string> = new Set()
  let signer: TokenKey | undefined
  let reading: Promise<void> | undefined
  /** The read that follows the latest withdrawal, or the end of the wait for it. */
  let reread: Promise<void> | undefined
  let withdrawals = 0
  let triedAt_ms = Number.NEGATIVE_INFINITY
  /** When the latest read that worked began. */
  let readAt_ms = Number.NEGATIVE_INFINITY

  const live = () => liveKeys(stored, clock.now())

  /** Derives the keys' states from what is stored and the current time. */
  function apply(): void {
    const states = live()
    const published = states.flatMap(({ key }) => opened.get(key.kid) ?? [])
    const before = signer?.kid
    opened = new Map(published.map((key) => [key.kid, key]))
    signer = opened.get(states.find(({ state }) => state === 'active')?.key.kid ?? '')
    if (signer?.kid !== before) log.info({ event: 'signing_key.active', kid: signer?.kid }, 'signing key')
  }

  async function load(): Promise<void> {
    const startedAt_ms = performance.now()
    const before = withdrawals
    // Never at the start, when this process's clock has not been compared with others yet.
    if (dueStandby(stored, parts)) await rotateWhenDue(db, parts)
    const rows = await ensureSigningKeys(db, parts)
    // They may be from before the revocation. Another read follows.
    if (withdrawals !== before) return
    const read = openLive(rows, opened, parts)
    for (const kid of read.unreadable)
      log.error({ event: 'signing_key.unreadable', kid }, 'the signing key cannot be decrypted')
    if (!read.live.some(({ state }) => state === 'active')) throw new ConfigError(NONE_OPENS)
    ;({ usable: stored, opened, unreadable } = read)
    readAt_ms = startedAt_ms
    apply()
  }

  /** Reads the table, unless that was tried within `every_ms`; waits for a read that is under way. Never rejects. */
  async function refresh(every_ms: number): Promise<void> {
    if (!reading && performance.now() - triedAt_ms >= every_ms) {
      triedAt_ms = performance.now()
      reading = load()
        .catch((error: Error) => {
          log.warn({ event: 'signing_keys.not_read', error: error.message }, 'signing keys not read')
          if (stored.length > 0) apply()
        })
        .finally(() => {
          reading = undefined
        })
    }
    await reading
  }

  return {
    /** undefined before the start. */
    signer: () => signer,
    /**
     * The JWK set (RFC 7517 §5) as JSON; undefined before the start. After a withdrawal it waits up to 2 s for the table
     * to be read again, so that it has the new standby key. Never rejects.
     */
    async jwks() {
      await reread
      const keys = [...opened.values()].map(({ publicJwk }) => publicJwk)
      return stored.length > 0 ? JSON.stringify({ keys }) : undefined
    },
    /** The usable keys in their current states; empty before the start. */
    live,
    /**
     * The key of this id that a live token may have been signed with. An id that is not known waits until this process
     * has read the table again, which it does at most once a second: another may have stored the key a moment ago.
     * `unreadable`: the table has such a key and this process cannot open it, or the table could not be read. Never
     * rejects.
     */
    async find(kid: string): Promise<TokenKey | 'unreadable' | undefined> {
      const asked_ms = performance.now()
      while (!opened.has(kid) && triedAt_ms < asked_ms) {
        await sleep(Math.max(0, triedAt_ms + pollUnable_ms - performance.now()))
        await refresh(pollUnable_ms)
      }
      const known = opened.get(kid)
      if (known) return known
      return unreadable.has(kid) || readAt_ms < asked_ms ? 'unreadable' : undefined
    },
    /**
     * Withdraws a key that was found to be revoked, at once, even without Postgres. Returns the standby key, which signs
     * instead of it; undefined when there is none and none can be made. Never rejects.
     */
    async withdraw(kid: string): Promise<TokenKey | undefined> {
      if (opened.has(kid)) {
        const revokedAt = new Date(clock.now())
        stored = stored.map((key) => (key.kid === kid ? { ...key, revokedAt } : key))
        apply()
        withdrawals += 1
        const refreshed = Promise.resolve(reading).then(() => refresh(0))
        reread = Promise.race([refreshed, sleep(rereadWait_ms, undefined, { ref: false })])
        if (!signer) await refreshed
      }
      return signer
    },
    /** Reads the table. @throws ConfigError when no stored key opens; whatever the database throws. */
    start: load,
    /** Reads the table again if 15 s have passed, or nothing can sign. To be called about once a second. */
    poll: () => void refresh(signer ? poll_ms : pollUnable_ms),
  }
}

/**
 * Opens every live key that is not in `known`. A row that cannot be decrypted was written without the key encryption
 * key, or this process has the wrong one: it counts for nothing, so without it the others may be in other states.
 */
function openLive(
  rows: readonly StoredSigningKey[],
  known: ReadonlyMap<string, TokenKey>,
  { clock, encryptionKey }: SigningKeyOptions,
) {
  const opened = new Map(known)
  const unreadable = new Set<string>()
  for (let usable = rows; ; usable = usable.filter(({ kid }) => !unreadable.has(kid))) {
    const live = liveKeys(usable, clock.now())
    const closed = live.filter(({ key }) => !opened.has(key.kid))
    if (closed.length === 0) return { usable, live, opened, unreadable }
    for (const { key } of closed) {
      const open = openSigningKey(key, encryptionKey)
      if (open) opened.set(key.kid, new TokenKey(open))
      else unreadable.add(key.kid)
    }
  }
}

const liveKeys = (keys: readonly StoredSigningKey[], now_ms: number) =>
  signingKeyStates(keys, now_ms).filter(({ state }) => state !== 'gone' && state !== 'revoked')
