import type { Knex } from 'knex'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'

/**
 * Runs `act` in a transaction that begins to commit within `deadline_ms` or never: waiting for a connection, for locks
 * and for statements all count. The commit itself is waited for as long as Postgres takes.
 * @throws what `act` or Postgres throws; an Error with code ETIMEDOUT, with nothing changed, when time is up.
 */
export async function commitWithin<T>(
  deadline_ms: number,
  db: Database,
  act: (transaction: Knex.Transaction) => Promise<T>,
): Promise<T> {
  let phase: 'before' | 'committing' | 'late' = 'before'
  const inTime = () => {
    // The code makes it one of the failures that are answered with 503.
    const sentence = 'Postgres took too long: nothing was changed'
    if (phase === 'late') throw Object.assign(new Error(sentence), { code: 'ETIMEDOUT' })
  }
  const transaction = db.transaction(async (transaction) => {
    inTime()
    // One that comes too late must not keep its connection waiting for a lock.
    await transaction.raw(`select set_config('statement_timeout', ?, true)`, [String(deadline_ms)])
    const result = await act(transaction)
    inTime()
    phase = 'committing'
    return { result }
  })
  const done = await within(deadline_ms, transaction)
  if (done) return done.result
  if (phase === 'before') phase = 'late'
  inTime()
  return (await transaction).result
}
