import { EVENT_IDS_REMEMBERED_DAYS } from '#shared/analytics-events.ts'
import type { Log } from '#shared/log.ts'
import type { Database } from '#shared/postgres.ts'

/** Partitions of a week each that stand ready: so long may the housekeeping fail before the default one is needed. */
const WEEKS_AHEAD = 4
const IDS_FORGOTTEN_AT_ONCE = 10_000
const INTERVAL_MS = 3_600_000

/** Events are for recounting and looking up; the daily figures do not need them. Less than 35 is not possible. */
export const EVENT_RETENTION_DAYS_MIN = EVENT_IDS_REMEMBERED_DAYS
export const EVENT_RETENTION_DAYS_DEFAULT = 90

export interface Housekeeping {
  /** Names of partitions. */
  created: string[]
  dropped: string[]
  /** Ids older than the time for which they are remembered. */
  forgottenIds: number
}

/**
 * Makes the partitions that will be needed, drops those whose events are all older than `eventRetention_days`, and
 * forgets ids. Any process may call it at any time: Postgres lets one at a time work, in functions that hold the
 * limits themselves, for the service's role may neither make or drop a table nor delete an event or an id.
 */
export async function keepEventsInOrder(
  db: Database,
  { eventRetention_days, signal }: { eventRetention_days: number; signal?: AbortSignal },
): Promise<Housekeeping> {
  const created = await names(db, 'select create_analytics_event_partitions(?) as name', WEEKS_AHEAD)
  const dropped = await names(db, 'select drop_old_analytics_events(?) as name', eventRetention_days)
  let forgottenIds = 0
  while (!signal?.aborted) {
    const { rows } = await db.raw('select forget_old_analytics_event_ids(?) as n', [IDS_FORGOTTEN_AT_ONCE])
    forgottenIds += rows[0].n
    if (rows[0].n < IDS_FORGOTTEN_AT_ONCE) break
  }
  return { created, dropped, forgottenIds }
}

async function names(db: Database, sql: string, binding: number): Promise<string[]> {
  const { rows } = await db.raw(sql, [binding])
  return rows.map((row: { name: string }) => row.name)
}

/** Keeps events in order now and every hour, until it is stopped. A failure is logged, and mended by the next round. */
export function startEventHousekeeping({
  db,
  log,
  eventRetention_days,
  interval_ms = INTERVAL_MS,
}: {
  db: Database
  log: Log
  eventRetention_days: number
  interval_ms?: number
}): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let round = Promise.resolve()

  async function work(): Promise<void> {
    try {
      const done = await keepEventsInOrder(db, { eventRetention_days, signal: stopping.signal })
      if (done.created.length + done.dropped.length + done.forgottenIds > 0) {
        log.info(done, 'analytics events: partitions and remembered ids kept in order')
      }
    } catch (error) {
      log.warn(
        { error: (error as Error).message },
        'analytics events: the housekeeping failed and will be tried again',
      )
    }
    if (stopping.signal.aborted) return
    timer = setTimeout(begin, interval_ms)
    timer.unref()
  }
  const begin = () => {
    round = work()
  }
  begin()
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await round
    },
  }
}
