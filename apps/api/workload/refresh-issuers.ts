import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { FetchKeys } from './fetch-keys.ts'
import { claimDueIssuers, saveFetchResult } from './issuers.ts'

const ISSUERS_PER_QUERY = 20

/**
 * Fetches the keys of issuers that are due. Each is fetched by one process, for every company that trusts it.
 * @throws AggregateError the failures, such as the database's, once all have been tried.
 */
export async function refreshIssuers(parts: {
  db: Database
  clock: Clock
  log: Log
  fetchKeys: FetchKeys
  isEnding: () => boolean
}): Promise<void> {
  const { db, clock, log, fetchKeys, isEnding } = parts
  async function refresh(issuer: string): Promise<void> {
    const result = await fetchKeys(issuer)
    await saveFetchResult(db, issuer, result, new Date(clock.now()))
    if (typeof result === 'string')
      log.warn({ event: 'workload_issuer.failed', issuer, failure: result }, 'keys of an issuer not fetched')
  }
  const failures: unknown[] = []
  let due: string[]
  do {
    due = await claimDueIssuers(db, { now: new Date(clock.now()), limit: ISSUERS_PER_QUERY })
    await Promise.all(due.map((issuer) => refresh(issuer).catch((error) => failures.push(error))))
  } while (due.length === ISSUERS_PER_QUERY && !isEnding())
  if (failures.length > 0) throw new AggregateError(failures)
}
