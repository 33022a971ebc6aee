import { setTimeout as sleep } from 'node:timers/promises'
import { createBatcher } from '#shared/process/batcher.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { commitWithin } from './commit.ts'
import { createLease } from './lease.ts'
import { createPrimaryAsk } from './primary.ts'
import { readNamedRunId } from './records.ts'
import { ASK, REVOKE } from './scripts.ts'
import { type Entry, entriesOf, type Standing, type Subject } from './subject.ts'
import { PRODUCTION_TIMINGS, type Timings } from './timings.ts'

export type Revocation = ReturnType<typeof createRevocation>

const entryKey = ({ kind, id }: Entry): string => redisKeys.revoked(kind, id)

/** Far below what a Lua stack holds, and over in a fraction of a millisecond. */
const SUBJECTS_A_COMMAND = 200

/** Asks about revocations and makes them, by the protocol in the README.md beside this file. */
export function createRevocation(parts: {
  redis: Redis
  /** The primary, for the transactions that revoke. */
  db: Database
  /** The same, for questions; they take two connections at most. */
  decisions?: Database
  timings?: Timings
  /** Milliseconds that only ever go forward. */
  monotonic?: () => number
  /** Called about once a second while connected, with the error if Redis did not do its part. */
  ticked?: (error?: Error) => void
}) {
  const { redis, db, decisions = db, timings = PRODUCTION_TIMINGS } = parts
  const { monotonic = () => performance.now(), ticked = () => {} } = parts
  const lease = createLease({ redis, timings, monotonic, ticked })
  const primary = createPrimaryAsk({ db: decisions, deadline_ms: timings.askPostgres_ms })
  const counts = { redis: 0, postgres: 0, neither: 0 }

  async function askPrimary(subject: Subject): Promise<Standing> {
    const standing = await primary(subject)
    counts[standing === 'undecided' ? 'neither' : 'postgres'] += 1
    return standing
  }

  /** Reads the marker once for all of them: what Redis holds about each, and whether it is known to be complete. */
  const read = createBatcher(async (subjects: Subject[]) => {
    const entriesOfEach = subjects.map(entriesOf)
    const keys = [...new Set(entriesOfEach.flat().map(entryKey))]
    const sentAt_ms = monotonic()
    const reply = await redis.eval(ASK, 0, redisKeys.revocationMarker, ...keys)
    const [marker = null, ...values] = reply as (string | null)[]
    const present = new Set(keys.filter((_, i) => values[i] !== null))
    const vouched = lease.vouches(marker, sentAt_ms)
    return entriesOfEach.map((entries) => ({
      vouched,
      revoked: entries.find((entry) => present.has(entryKey(entry)))?.kind,
    }))
  }, SUBJECTS_A_COMMAND)

  function ask(subject: Subject): Promise<Standing> {
    if (!lease.usable()) return askPrimary(subject)
    return read(subject).then(
      ({ revoked, vouched }) => {
        // An entry is only ever added after the commit, so it is true whatever the marker says.
        if (!revoked && !vouched) return askPrimary(subject)
        counts.redis += 1
        return revoked ? { revoked } : 'live'
      },
      () => {
        lease.suspect()
        return askPrimary(subject)
      },
    )
  }

  /** Adds the entry. Returns whether the server is the one that Postgres named and every process now sees it. */
  async function add(entry: Entry, namedRunId: string): Promise<boolean> {
    const sentAt_ms = monotonic()
    const key = entryKey(entry)
    const reply = redis.eval(REVOKE, 0, key, timings.entry_ms, redisKeys.revocationMarker)
    const [runId, marker] = (await reply.catch(() => [])) as [string?, (string | null)?]
    const named = runId !== undefined && runId === namedRunId && runId === lease.server()
    return named && lease.vouches(marker ?? null, sentAt_ms)
  }

  /** Resolves when every process refuses the entry: at once if Redis vouches for it, else when no lease is left. */
  async function settle(entry: Entry, namedRunId: string, committedAt_ms: number): Promise<void> {
    while (!(await add(entry, namedRunId))) {
      const left_ms = committedAt_ms + timings.settle_ms - monotonic()
      if (left_ms <= 0) return
      await sleep(Math.min(left_ms, timings.retry_ms))
    }
  }

  return {
    /**
     * Whether the subject has been revoked, and which part of it: a client within the last day, which is longer than any
     * token lives or any client record is remembered. Never rejects. All that is asked in one turn is one Redis command.
     */
    ask,
    /**
     * Runs `commit` in one Postgres transaction, which must leave the entry revoked there (now or already), then calls
     * `onCommit`, and resolves with its result once no process can accept the entry. That can take 6 s when Redis cannot
     * vouch for it, after at most 3 s until its commit. Rejects, with nothing changed, when `commit` rejects or those
     * 3 s are over; when the transaction's own commit fails it rejects too, and only a repeat tells whether it counted.
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
    /** How `ask` has decided since the start of the process. */
    counts: () => ({ ...counts }),
    /** Whether Redis vouches for revocations now; else Postgres decides. */
    trusted: lease.trusted,
  }
}
