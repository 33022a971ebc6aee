import { type ClientCredentials, readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { createBatcher } from '#shared/process/batcher.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** Counted from the start of the read. Using a record does not prolong it. */
export const CLIENT_RECORD_LIFETIME_MS = 5 * 60_000
const CLIENT_RECORDS_MAX = 200_000

type CachedRecord = { record: ClientCredentials; readAt_ms: number; readAtMonotonic_ms: number }
export type ClientRecords = ReturnType<typeof createClientRecords>

/**
 * Caches client records. They change only by revocation, which is checked on every request, and by the keys
 * of a workload's issuer. They expire before Redis forgets the revocation.
 */
export function createClientRecords(parts: {
  db: Queryable
  clock: Clock
  monotonic?: () => number
  max?: number
}) {
  const { db, clock, monotonic = () => performance.now(), max = CLIENT_RECORDS_MAX } = parts
  const cache = new Map<string, CachedRecord>()
  const query = batchReads((ids) => readClientCredentials(db, ids))

  /** Returns the cached record if it was read from Postgres in the last five minutes. */
  function peek(clientId: string): ClientCredentials | undefined {
    const entry = cache.get(clientId)
    if (!entry) return undefined
    // The larger age counts: neither setting the clock back nor suspending the machine may prolong an entry.
    const age_ms = Math.max(monotonic() - entry.readAtMonotonic_ms, clock.now() - entry.readAt_ms)
    return age_ms < CLIENT_RECORD_LIFETIME_MS ? entry.record : undefined
  }

  return {
    peek,
    /**
     * Reads a record from Postgres and caches it, or returns undefined. All reads in a turn of the event loop
     * are one query, so a flood of unknown ids costs little. Rejects with the database's error.
     */
    async read(clientId: string): Promise<ClientCredentials | undefined> {
      if (!CLIENT_ID_PATTERN.test(clientId)) return undefined
      const startedAt = { readAt_ms: clock.now(), readAtMonotonic_ms: monotonic() }
      const record = await query(clientId)
      // A wrong secret causes a read too. It must not renew an entry, so only a changed record is stored.
      if (record && version(peek(clientId)) !== version(record))
        setNewest(cache, clientId, { record, ...startedAt }, max)
      return record
    },
  }
}

/** So small that Postgres uses the index, and for each kind of record on three connections at most. */
export const batchReads = <Record>(read: (ids: string[]) => Promise<readonly Record[]>) =>
  createBatcher(read, 50, { concurrency: 3, wait_ms: 8_000 })

/** Changes with everything that may change in a record. */
const version = (record?: ClientCredentials): string => `${record?.status} ${record?.workload?.keysAsOf_ms}`
