import { type ClientCredentialsRecord, findCredentialsOfClients } from '#shared/oauth/clients.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import { type Clock, systemClock } from '#shared/process/clock.ts'
import { batchPerTurn } from '#shared/process/turn-batch.ts'
import type { Queryable } from '#shared/stores/postgres.ts'

/** Counted from the start of the read; using a record does not prolong it. */
export const CLIENT_RECORD_LIFETIME_MS = 5 * 60_000
const CLIENT_RECORDS_MAX = 200_000
/** So few that Postgres looks each up by the index. */
const CLIENTS_A_QUERY = 50

export interface ClientRecords {
  /**
   * @returns the client's record as it was in Postgres at most five minutes ago; undefined when there is no such
   * client. It tells what a client was given, never that it still stands: that is what Revocation.ask is for.
   * Rejects with the database's error when the record has to be read and cannot be.
   */
  find(clientId: string): Promise<ClientCredentialsRecord | undefined>
}

export interface ClientRecordsOptions {
  db: Queryable
  clock?: Clock
  /** Milliseconds that only ever go forward. */
  monotonic?: () => number
  max?: number
}

interface Read {
  record: Promise<ClientCredentialsRecord | undefined>
  startedAt_ms: number
  startedAtMonotonic_ms: number
}

/**
 * Client records, remembered. A record never changes but for its revocation, which is asked for on every request;
 * the lifetime is short enough that the revocation entries in Redis outlive every record read before them. What has to
 * be read in one turn of the event loop is one query, so that a flood of ids that nobody has costs Postgres little.
 * An unknown client is not remembered, so that a new one works at once.
 */
export function createClientRecords({
  db,
  clock = systemClock,
  monotonic = () => performance.now(),
  max = CLIENT_RECORDS_MAX,
}: ClientRecordsOptions): ClientRecords {
  const reads = new Map<string, Read>()
  const query = batchPerTurn((clientIds: string[]) => findCredentialsOfClients(db, clientIds), {
    size: CLIENTS_A_QUERY,
  })

  // Both clocks: a wall clock that is set back, or a machine that slept, must not make a record live longer.
  const current = (read: Read): boolean =>
    monotonic() - read.startedAtMonotonic_ms < CLIENT_RECORD_LIFETIME_MS &&
    clock.now() - read.startedAt_ms < CLIENT_RECORD_LIFETIME_MS

  function start(clientId: string): Read {
    const startedAt = { startedAt_ms: clock.now(), startedAtMonotonic_ms: monotonic() }
    const read: Read = { ...startedAt, record: query(clientId) }
    const forget = () => {
      if (reads.get(clientId) === read) reads.delete(clientId)
    }
    read.record.then((record) => record ?? forget(), forget)
    return read
  }

  return {
    find(clientId) {
      const known = reads.get(clientId)
      if (known && current(known)) return known.record
      const read = start(clientId)
      // The oldest read would expire soonest.
      setNewest(reads, clientId, read, max)
      return read.record
    },
  }
}
