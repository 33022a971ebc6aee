import { type ClientCredentials, readClientCredentials } from '#shared/oauth/client-credentials.ts'
import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import { createBatcher } from '#shared/process/batcher.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** Counted from the start of the read; using a record does not prolong it. */
export const CLIENT_RECORD_LIFETIME_MS = 5 * 60_000
const CLIENT_RECORDS_MAX = 200_000
/** Few enough for Postgres to look each one up by the index. */
const CLIENTS_A_QUERY = 50

export type ClientRecords = ReturnType<typeof createClientRecords>

/**
 * What clients were granted, but not whether it still holds: Revocation.ask says that, on every request. A record never
 * changes but for its revocation and the keys of its workload's issuer, and is forgotten early enough that the revocation entries in Redis outlive it.
 */
export function createClientRecords(parts: {
  db: Queryable
  clock: Clock
  monotonic?: () => number
  max?: number
}) {
  const { db, clock, monotonic = () => performance.now(), max = CLIENT_RECORDS_MAX } = parts
  const memory = new Map<
    string,
    { record: ClientCredentials; readAt_ms: number; readAtMonotonic_ms: number }
  >()
  const query = createBatcher((ids: string[]) => readClientCredentials(db, ids), CLIENTS_A_QUERY)

  /** Returns the record as it was in Postgres at most five minutes ago, if this process has read it since. */
  function remembered(clientId: string): ClientCredentials | undefined {
    const known = memory.get(clientId)
    if (!known) return undefined
    // Both clocks: a wall clock that is set back, or a machine that slept, must not make a record live longer.
    const age_ms = Math.max(monotonic() - known.readAtMonotonic_ms, clock.now() - known.readAt_ms)
    return age_ms < CLIENT_RECORD_LIFETIME_MS ? known.record : undefined
  }

  return {
    remembered,
    /**
     * Reads the record from Postgres and remembers it; undefined when no client has this id. All reads in one turn of
     * the event loop are one query, so that a flood of unknown ids costs little. Rejects with the database's error.
     */
    async read(clientId: string): Promise<ClientCredentials | undefined> {
      if (!CLIENT_ID_PATTERN.test(clientId)) return undefined
      const startedAt = { readAt_ms: clock.now(), readAtMonotonic_ms: monotonic() }
      const record = await query(clientId)
      // A stranger's wrong secret causes a read as well: it must not make room for itself. The oldest read would
      // expire soonest.
      const stateOf = (one?: ClientCredentials) => `${one?.status} ${one?.workload?.keysAsOf_ms}`
      if (record && stateOf(remembered(clientId)) !== stateOf(record))
        setNewest(memory, clientId, { record, ...startedAt }, max)
      return record
    },
  }
}
