import { randomUUID } from 'node:crypto'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import type { TestStack } from './stack.ts'

const MINUTE_MS = 60_000

export interface Past extends AsyncDisposable {
  db: Database
  /** Stores a token of the client for each time, in minutes ago and oldest first. */
  used(clientId: string, minutesAgo: readonly number[], address?: string): Promise<void>
}

/** What the clients of a stack did before it was started, as its services would have stored it. */
export async function pastOf({ stores: { postgres } }: TestStack): Promise<Past> {
  const db = createPostgres({ url: postgres.ownerUrl, poolSize: 1, applicationName: 'test' })
  const writer = randomUUID()
  return {
    db,
    async used(clientId, minutesAgo, address = '192.0.2.1') {
      const uses = minutesAgo.map((minutes) => {
        return [{ clientId, scope: 'analytics:read', address, at_ms: Date.now() - minutes * MINUTE_MS }]
      })
      for (const [index, use] of uses.entries())
        await db.raw('select record_usage(?, ?, ?, false, false)', [writer, index + 1, JSON.stringify(use)])
      await db.raw('delete from usage_writers where writer = ?', [writer])
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

/** Minutes ago, oldest first. */
export const every = (minutes: number, from: number, to: number): number[] =>
  Array.from({ length: Math.floor((from - to) / minutes) + 1 }, (_, index) => from - index * minutes)
