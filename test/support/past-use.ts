import { systemClock } from '#shared/process/clock.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { createPostgres } from '#shared/stores/postgres.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { revokeArmed } from '../../apps/api/clients/armed-revocations.ts'
import { readPendingOf } from '../../apps/api/clients/pending-usage.ts'
import { drainUsage, holdUsage } from '../../apps/api/clients/usage.ts'
import { eventually } from './eventually.ts'
import { connectedRedis } from './redis.ts'
import type { TestStack } from './stack.ts'

const MINUTE_MS = 60_000

export interface Past extends AsyncDisposable {
  /** Counts and stores a token of the client for each time, in minutes ago and oldest first, as the services do. */
  used(clientId: string, minutesAgo: number[], address?: string): Promise<void>
  /** Puts a replacement's secret away in the past, so that what it did since counts. */
  putAway(clientId: string, minutesAgo: number): Promise<void>
  /** Disarms or revokes what is armed, as the service does each minute. */
  revokeArmed(): Promise<unknown>
}

/** What the clients of a stack did before it was started. */
export async function pastOf({ stores: { postgres, redis: store } }: TestStack): Promise<Past> {
  const db = createPostgres({ url: postgres.serviceUrl('api'), poolSize: 2, applicationName: 'test' })
  const redis = await connectedRedis(store.serviceUrl('api'))
  const authRedis = await connectedRedis(store.serviceUrl('auth'))
  const revocation = createRevocation({ redis, db })
  // While the service stores, `drainUsage` does nothing, and two uses that wait become one: the gap is lost.
  const stored = (clientId: string) =>
    eventually(async () => {
      await drainUsage({ redis, db })
      const { usage, whole } = await readPendingOf(redis, clientId)
      return whole && usage.lastUsedAt_ms === undefined && (await db.transaction(holdUsage))
    })
  const ago = (minutes: number) => Date.now() - minutes * MINUTE_MS
  return {
    async used(clientId, minutesAgo, address = '192.0.2.1') {
      for (const minutes of minutesAgo) {
        const counter = createClientUsage({ redis: authRedis, clock: { now: () => ago(minutes) } })
        counter.issued(clientId, 'analytics:read', address)
        await counter.flush()
        await stored(clientId)
      }
    },
    async putAway(clientId, minutesAgo) {
      await db.raw('insert into client_rotation (client_id, secret_put_away_at) values (?, ?)', [
        clientId,
        new Date(ago(minutesAgo)),
      ])
    },
    revokeArmed: () => revokeArmed({ db, redis, clock: systemClock, revocation }),
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      authRedis.disconnect()
      await db.destroy()
    },
  }
}

/** Minutes ago, oldest first. */
export const every = (minutes: number, from: number, to: number): number[] =>
  Array.from({ length: Math.floor((from - to) / minutes) + 1 }, (_, index) => from - index * minutes)
