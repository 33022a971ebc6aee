import { randomUUID } from 'node:crypto'
import { createPostgres } from '#shared/stores/postgres.ts'
import type { TestStack } from '../support/stack.ts'

const MINUTE_MS = 60_000

export type Past = Awaited<ReturnType<typeof createPastUse>>

/** Stores what the clients of a stack did before it started, as its services would have. */
export async function createPastUse({ stores: { postgres } }: TestStack) {
  const db = createPostgres({ url: postgres.ownerUrl, poolSize: 1, applicationName: 'test' })
  const writer = randomUUID()
  return {
    db,
    /** Stores a token of the client for each time, in minutes ago and oldest first. */
    async used(clientId: string, minutesAgo: readonly number[], address = '192.0.2.1'): Promise<void> {
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
