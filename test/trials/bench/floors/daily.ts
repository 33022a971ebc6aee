/* What the floors of the daily read have in common: the stores, and the answers that the service gave. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import pg from 'pg'

const { BENCH_ANSWERS = '', BENCH_DATABASE_URL = '', BENCH_REDIS_URL = '' } = process.env

/** The answers by path and query. */
export const answers = new Map<string, { body: string; etag: string }>(
  JSON.parse(readFileSync(BENCH_ANSWERS, 'utf8')),
)
export const redis = new Redis(BENCH_REDIS_URL)
export const db = new pg.Pool({ connectionString: BENCH_DATABASE_URL })

/**
 * Returns a function that asks for all ids of its turn of the event loop together, and resolves after that.
 */
export function sharedPerTurn(ask: (ids: string[]) => Promise<unknown>): (id: string) => Promise<void> {
  let waiting: { id: string; resolve: () => void }[] = []

  async function askTogether(): Promise<void> {
    const batch = waiting
    waiting = []
    await ask(batch.map(({ id }) => id))
    for (const { resolve } of batch) resolve()
  }

  return (id) =>
    new Promise((resolve) => {
      waiting.push({ id, resolve })
      if (waiting.length === 1) setImmediate(() => void askTogether())
    })
}
