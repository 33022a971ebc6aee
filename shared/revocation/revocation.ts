import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { createBatcher } from '#shared/process/batcher.ts'
import { within } from '#shared/process/within.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { createLease } from './lease.ts'
import { entryKey, REVOKE } from './redis.ts'
import { createSharedPage } from './shared-page.ts'
import { createPrimaryAsk, readEntries, readNamedRunId } from './state.ts'
import type { Entry, Standing, Subject } from './subject.ts'
import { PRODUCTION_TIMINGS, type Timings } from './timings.ts'

export type Revocation = ReturnType<typeof createRevocation>

/** 200 keys stay far below Lua's stack limit, and take Redis a fraction of a millisecond. */
const SUBJECTS_PER_COMMAND = 200

/** Checks and makes revocations, by the protocol in the README.md beside this file. */
export function createRevocation(parts: {
  redis: Redis
  /** The primary, for the transactions that revoke. */
  db: Database
  /** A pool of its own for what `ask` reads from the primary, on two connections at most; `db` if absent. */
  decisions?: Database
  timings?: Timings
  /** Milliseconds that only ever go forward. */
  monotonic?: () => number
  /** Called about once a second while connected, with the error if Redis did not do its part. */
  onTick?: (error?: Error) => void
}) {
  const { redis, db, decisions = db, timings = PRODUCTION_TIMINGS } = parts
  const { monotonic = () => performance.now(), onTick = () => {} } = parts
  const lease = createLease({ redis, timings, monotonic, onTick })
  const primary = createPrimaryAsk({ db: decisions, deadline_ms: timings.askPostgres_ms })
  /** The names are labels of a metric. */
  const counts = { redis: 0, postgres: 0, neither: 0 }

  async function askPrimary(subject: Subject): Promise<Standing> {
    const standing = await primary(subject)
    counts[standing === 'undecided' ? 'neither' : 'postgres'] += 1
    return standing
  }

  /** Returns what Redis holds about each subject, and whether that is known to be complete. */
  const read = createBatcher(async (subjects: Subject[]) => {
    const sentAt_ms = monotonic()
    const { marker, revoked } = await readEntries(redis, subjects)
    const isComplete = lease.isMarkerValid(marker, sentAt_ms)
    return revoked.map((kind) => ({ isComplete, revoked: kind }))
  }, SUBJECTS_PER_COMMAND)

  function ask(subject: Subject): Promise<Standing> {
    if (!lease.isUsable()) return askPrimary(subject)
    return read(subject).then(
      ({ revoked, isComplete }) => {
        // An entry is only ever added after the commit, so it is true whatever the marker says.
        if (!revoked && !isComplete) return askPrimary(subject)
        counts.redis += 1
        return revoked ? { revoked } : 'live'
      },
      () => {
        lease.suspect()
        return askPrimary(subject)
      },
    )
  }

  /** Adds the entry. Returns whether every process now sees it, on the server that Postgres names. */
  async function add(entry: Entry, namedRunId: string): Promise<boolean> {
    const sentAt_ms = monotonic()
    const key = entryKey(entry)
    const reply = redis.eval(REVOKE, 0, key, timings.entry_ms, redisKeys.revocationMarker)
    const [runId, marker] = (await reply.catch(() => [])) as [string?, (string | null)?]
    const isNamed = runId !== undefined && runId === namedRunId && runId === lease.serverRunId()
    return isNamed && lease.isMarkerValid(marker ?? null, sentAt_ms)
  }

  /** Resolves when every process refuses the entry: at once if Redis vouches, else when old leases end. */
  async function settle(entry: Entry, namedRunId: string, committedAt_ms: number): Promise<void> {
    while (!(await add(entry, namedRunId))) {
      const left_ms = committedAt_ms + timings.settle_ms - monotonic()
      if (left_ms <= 0) return
      await sleep(Math.min(left_ms, timings.retry_ms))
    }
  }

  return {
    /**
     * Returns whether the subject was revoked, and which part of it: a client within the last day, which is
     * longer than any token or cached record lives. Never rejects. Calls of one tick share a command.
     */
    ask,
    /**
     * Runs `commit` in one Postgres transaction: it must revoke the entry or find it revoked. Then calls
     * `onCommit`, and resolves with the result of `commit` once no process accepts the entry: up to 3 s to
     * commit, and 6 s more if Redis cannot vouch. Rejects, with nothing changed, if `commit` rejects or
     * exceeds 3 s. Rejects too if COMMIT fails: then the outcome is unknown, so retry.
     */
    async revoke<T>(entry: Entry, commit: (db: Queryable) => Promise<T>, onCommit = () => {}): Promise<T> {
      const [result, namedRunId] = await commitWithin(timings.commit_ms, db, async (transaction) => {
        const committed = await commit(transaction)
        return [committed, await readNamedRunId(transaction)] as const
      })
      onCommit()
      await settle(entry, namedRunId, monotonic())
      return result
    },
    obtainPage: createSharedPage({ redis, lease, monotonic }),
    /** How `ask` has decided since the start of the process. */
    counts: () => ({ ...counts }),
    /** Whether Redis vouches for revocations now; else Postgres decides. */
    isTrusted: lease.isTrusted,
  }
}

/**
 * Runs `act` in a transaction that begins to commit within `deadline_ms` or never: waiting for a connection,
 * for locks and for statements all count. It then waits for the commit as long as Postgres takes.
 * @throws what `act` or Postgres throws; an Error with code ETIMEDOUT, and nothing changed, if it is late.
 */
async function commitWithin<T>(
  deadline_ms: number,
  db: Database,
  act: (transaction: Knex.Transaction) => Promise<T>,
): Promise<T> {
  let phase: 'before' | 'committing' | 'late' = 'before'
  const throwIfLate = () => {
    // The code makes it one of the failures that are answered with 503.
    const message = 'Postgres took too long: nothing was changed'
    if (phase === 'late') throw Object.assign(new Error(message), { code: 'ETIMEDOUT' })
  }
  const transaction = db.transaction(async (transaction) => {
    throwIfLate()
    // A late transaction must not keep its connection waiting for a lock.
    await transaction.raw(`select set_config('statement_timeout', ?, true)`, [String(deadline_ms)])
    const result = await act(transaction)
    throwIfLate()
    phase = 'committing'
    return { result }
  })
  const outcome = await within(deadline_ms, transaction)
  if (outcome) return outcome.result
  if (phase === 'before') phase = 'late'
  throwIfLate()
  return (await transaction).result
}
