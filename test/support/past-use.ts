import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import type { TestStack } from './stack.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

export interface Past extends AsyncDisposable {
  db: Database
  /** Stores a token of the client for each time, in minutes ago and oldest first. */
  used(clientId: string, minutesAgo: readonly number[], address?: string): Promise<void>
}

/** What the clients of a stack did before it was started, as its services would have stored it. */
export async function pastOf({ stores: { postgres } }: TestStack): Promise<Past> {
  const db = createPostgres({ url: postgres.ownerUrl, poolSize: 1, applicationName: 'test' })
  return {
    db,
    async used(clientId, minutesAgo, address = '192.0.2.1') {
      const times_ms = minutesAgo.map((minutes) => Date.now() - minutes * MINUTE_MS)
      for (const at_ms of times_ms) {
        const [at, hour] = [new Date(at_ms), new Date(at_ms - (at_ms % HOUR_MS))]
        await db.raw(USE, [clientId, at, at])
        await db.raw(USE_IN_HOUR, [clientId, hour])
        await db.raw(USE_AT_ADDRESS, [clientId, address, at])
      }
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

const USE = `
  insert into client_usage as u (client_id, first_used_at, last_used_at) values (?, ?, ?)
  on conflict (client_id) do update
  set last_used_at = greatest(u.last_used_at, excluded.last_used_at),
    longest_quiet_s = greatest(u.longest_quiet_s, extract(epoch from excluded.last_used_at - u.last_used_at)::integer)`

const USE_IN_HOUR = `
  insert into client_usage_hourly as u (client_id, hour, tokens) values (?, ?, 1)
  on conflict (client_id, hour) do update set tokens = u.tokens + 1`

const USE_AT_ADDRESS = `
  insert into client_address_usage as u (client_id, address, tokens, last_seen_at) values (?, ?, 1, ?)
  on conflict (client_id, address) do update
  set tokens = u.tokens + 1, last_seen_at = greatest(u.last_seen_at, excluded.last_seen_at)`

/** Minutes ago, oldest first. */
export const every = (minutes: number, from: number, to: number): number[] =>
  Array.from({ length: Math.floor((from - to) / minutes) + 1 }, (_, index) => from - index * minutes)
