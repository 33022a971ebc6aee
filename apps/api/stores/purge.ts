import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { sqlState } from './postgres-errors.ts'

/** Takes about 100 ms, so it neither holds up the shutdown nor comes near the limit of a statement. */
const STEP_ROWS = 5_000
/** A step that waits for a lock fails for now. One that runs out of time is repeated with fewer rows. */
const LOCK_WAIT = '2s'
const QUERY_CANCELED = '57014'
/** How long to wait while other processes are busy with all that is left. */
const BUSY_PAUSE_MS = 1_000

/** Deletes rows that are no longer kept. */
export interface Purge {
  /** Names the lock, and the rows in the log and in the metric: their table, or which of its rows. */
  kind: string
  /** SQL for the time of the oldest row. It must use an index, since each scrape of the metrics runs it. */
  oldest: string
  /** How long after its time a row is kept. */
  kept_ms: number
  /** Deletes at most `limit` rows with times up to `before`, oldest first. Fewer means that none is left. */
  deleteRows(transaction: Queryable, range: { before: Date; limit: number }): Promise<Deleted>
  /** Called after each commit with what `deleteRows` returned. */
  onDeleted?: ((rows: unknown[]) => void) | undefined
}

interface Deleted {
  rowCount: number
  rows?: unknown[]
}

/**
 * Returns the purge of a table, or of the rows in it for which `only` is true.
 * @param parts `key`: the columns that identify a row. `time`: the column that decides, which has an index.
 * `returning`: the clause for what `onDeleted` needs.
 */
export const purgeByTime = (parts: {
  table: string
  kind?: string
  key: string
  time: string
  only?: string
  kept_ms: number
  returning?: string
  onDeleted?: Purge['onDeleted']
}): Purge => {
  const { table, kind = table, key, time, only = 'true', kept_ms, returning = '', onDeleted } = parts
  return {
    kind,
    oldest: `select min(${time}) from ${table} where ${only}`,
    kept_ms,
    // As text in UTC, for a column of days: pg would send a Date in the time zone of this process.
    deleteRows: (transaction, { before, limit }) =>
      transaction.raw(
        `delete from ${table} where (${key}) in
           (select ${key} from ${table} where ${time} <= ? and ${only} order by ${time} limit ?)
         ${returning}`,
        [before.toISOString(), limit],
      ),
    onDeleted,
  }
}

/** Returns the purge by a call of SQL that decides what is old and returns how many rows it deleted. */
export const purgeByFunction = ({
  call,
  ...purge
}: Omit<Purge, 'deleteRows'> & { call: (limit: number) => string }): Purge => ({
  ...purge,
  async deleteRows(transaction, { limit }) {
    const { rows } = await transaction.raw(`select ${call(limit)} as "rowCount"`)
    return rows[0]
  },
})

/**
 * Deletes one step of rows, unless another process is doing so. The lock ends with the transaction, since a
 * pooler may give the next one another connection. Returns the number of rows, or undefined if another
 * process has the lock.
 */
export async function deleteStep(
  { db, now_ms }: { db: Database; now_ms: number },
  purge: Purge,
  limit: number,
): Promise<number | undefined> {
  const deleted = await db.transaction(async (transaction) => {
    const { rows } = await transaction.raw(
      `select pg_try_advisory_xact_lock(hashtextextended(?, 0)) as "isOurs", set_config('lock_timeout', ?, true)`,
      [`purge of ${purge.kind}`, LOCK_WAIT],
    )
    if (!rows[0].isOurs) return undefined
    return purge.deleteRows(transaction, { before: new Date(now_ms - purge.kept_ms), limit })
  })
  if (deleted?.rows) purge.onDeleted?.(deleted.rows)
  return deleted?.rowCount
}

export const logPurgeFailure = (log: Log, { kind }: Purge, error: Error): void =>
  log.warn({ event: 'housekeeping.failed', what: `purging ${kind}`, error: error.message }, 'purge failed')

/**
 * Returns this process's time once Postgres has confirmed it, since what a wrong clock deletes is gone.
 * @throws if the clocks differ by more than two minutes.
 */
async function readConfirmedTime(db: Queryable, clock: Clock): Promise<number> {
  const before_ms = clock.now()
  const { rows } = await db.raw('select clock_timestamp() as time')
  const postgres_ms = clockOffset_ms(rows[0].time.getTime(), { before_ms, after_ms: clock.now() })
  if (areApart({ postgres_ms, redis_ms: 0 }))
    throw new Error('nothing is deleted while the clocks of this process and Postgres differ by two minutes')
  return before_ms
}

/**
 * Runs purges, a step of each in turn so that none delays another, until nothing is left or half of
 * `every_ms` has passed. A purge that fails is logged and left for the next round. One that another process
 * is busy with keeps its turn, in case that process ends.
 * @throws as `readConfirmedTime`, which is called before each turn of all.
 */
export async function runPurges(
  parts: { db: Database; clock: Clock; log: Log; purges: readonly Purge[]; every_ms: number },
  isEnding: () => boolean,
): Promise<void> {
  const { db, clock, log, purges, every_ms } = parts
  const ends_ms = performance.now() + every_ms / 2
  const isOver = () => isEnding() || performance.now() >= ends_ms
  const limits = new Map(purges.map((purge) => [purge, STEP_ROWS]))
  const deleted: Record<string, number> = {}

  /** Returns whether this process had the turn. */
  async function takeTurn(purge: Purge, range: { now_ms: number; limit: number }): Promise<boolean> {
    const { now_ms, limit } = range
    try {
      const rows = await deleteStep({ db, now_ms }, purge, limit)
      if (rows) deleted[purge.kind] = (deleted[purge.kind] ?? 0) + rows
      if (rows !== undefined && rows < limit) limits.delete(purge)
      return rows !== undefined
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED && limit > 1) limits.set(purge, Math.ceil(limit / 10))
      else {
        limits.delete(purge)
        logPurgeFailure(log, purge, error as Error)
      }
      return true
    }
  }

  while (limits.size > 0 && !isOver()) {
    let hadTurn = false
    const now_ms = await readConfirmedTime(db, clock)
    for (const [purge, limit] of limits)
      if (!isOver()) hadTurn = (await takeTurn(purge, { now_ms, limit })) || hadTurn
    if (!hadTurn && !isOver()) await sleep(BUSY_PAUSE_MS)
  }
  const unfinished = isEnding() ? [] : [...limits.keys()].map(({ kind }) => kind)
  if (Object.keys(deleted).length + unfinished.length > 0)
    log.info({ event: 'housekeeping.done', deleted, unfinished }, 'deleted what is no longer kept')
}

/** Returns how long ago the oldest row of each kind should have been deleted, in seconds. */
export async function readOverdue(
  db: Queryable,
  { now_ms, purges }: { now_ms: number; purges: readonly Purge[] },
): Promise<Map<string, number>> {
  const { rows } = await db.raw(
    `select ${purges.map(({ kind, oldest }) => `(${oldest}) as ${kind}`).join(', ')}`,
  )
  return new Map(
    purges.map(({ kind, kept_ms }) => {
      const time = rows[0][kind] as Date | string | null
      const overdue_ms = time === null ? 0 : now_ms - kept_ms - new Date(time).getTime()
      return [kind, Math.max(0, overdue_ms / 1_000)]
    }),
  )
}
