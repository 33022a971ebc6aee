import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { HOUR_MS, MINUTE_MS } from './usage-windows.ts'

/** Fields read per step, and the maximum number of steps. A larger hash is only read by draining it. */
const SCAN_FIELDS = 5_000
const SCAN_STEPS_MAX = 40
const WHAT_MAX_CHARACTERS = 60

/** A number of milliseconds until the year 2286, or a count. */
const VALUE = /^\d{1,13}$/
/** Hours and minutes before the year 3000, and text that Postgres can store. */
const FIELD = /^[\w-]{1,64}\|(?:last|\d{1,6}|[mr]\|\d{1,8}|[sal]\|[\x21-\x7b\x7d\x7e]+)$/

/** Parses a number from Redis. Returns undefined if it is neither a count nor a time. */
export const numberIn = (text: string | null): number | undefined =>
  text !== null && VALUE.test(text) ? Number(text) : undefined

export interface Counts {
  tokens: number
  refused: number
}

/** The usage of a client that is not yet stored in Postgres. Times are in milliseconds since the Unix epoch. */
export interface PendingUsage {
  lastUsedAt_ms: number | undefined
  hours: Map<number, Counts>
  minutes: Map<number, Counts>
  /** When each scope was last used. */
  scopes: Map<string, number>
  addresses: Map<string, { tokens: number; seenAt_ms: number }>
}

/**
 * Reads the hash of pending usage, which has seven kinds of fields:
 *   `{client_id}|last`           when it last got a token
 *   `{client_id}|{hour}`         tokens issued in that hour, counted from the Unix epoch
 *   `{client_id}|m|{minute}`     tokens issued in that minute
 *   `{client_id}|r|{minute}`     its requests that were refused in that minute
 *   `{client_id}|s|{scope}`      when a token with that scope was last issued
 *   `{client_id}|a|{address}`    tokens issued to that address
 *   `{client_id}|l|{address}`    when a token was last issued to it
 * @returns the usage, and how many fields are none of these. They are skipped, because a single one that Postgres
 * refuses would keep all others from being stored.
 */
export function parseUsage(fields: Iterable<[field: string, value: string]>): {
  clients: Map<string, PendingUsage>
  skipped: number
} {
  const clients = new Map<string, PendingUsage>()
  let skipped = 0
  for (const [field, text] of fields) {
    const value = numberIn(text)
    if (value === undefined || !FIELD.test(field)) {
      skipped += 1
      continue
    }
    const [clientId = '', kind = '', what = ''] = field.split('|')
    const usage = clients.get(clientId) ?? nothing()
    clients.set(clientId, usage)
    // Longer than any address or scope. It must not keep the rest from being stored.
    add(usage, kind, what.slice(0, WHAT_MAX_CHARACTERS), value)
  }
  return { clients, skipped }
}

const nothing = (): PendingUsage => ({
  lastUsedAt_ms: undefined,
  hours: new Map(),
  minutes: new Map(),
  scopes: new Map(),
  addresses: new Map(),
})

function add(usage: PendingUsage, kind: string, what: string, value: number): void {
  if (kind === 'last') usage.lastUsedAt_ms = Math.max(usage.lastUsedAt_ms ?? 0, value)
  else if (kind === 'm') countsAt(usage.minutes, Number(what) * MINUTE_MS).tokens += value
  else if (kind === 'r') {
    const minute_ms = Number(what) * MINUTE_MS
    countsAt(usage.minutes, minute_ms).refused += value
    countsAt(usage.hours, minute_ms - (minute_ms % HOUR_MS)).refused += value
  } else if (kind === 's') usage.scopes.set(what, Math.max(usage.scopes.get(what) ?? 0, value))
  else if (kind === 'a') addressAt(usage, what).tokens += value
  else if (kind === 'l') addressAt(usage, what).seenAt_ms = Math.max(addressAt(usage, what).seenAt_ms, value)
  else countsAt(usage.hours, Number(kind) * HOUR_MS).tokens += value
}

export function countsAt(counts: Map<number, Counts>, at_ms: number): Counts {
  const there = counts.get(at_ms) ?? { tokens: 0, refused: 0 }
  counts.set(at_ms, there)
  return there
}

function addressAt({ addresses }: PendingUsage, address: string) {
  const there = addresses.get(address) ?? { tokens: 0, seenAt_ms: 0 }
  addresses.set(address, there)
  return there
}

/** The minutes in which tokens were issued, oldest first. */
export const minutesUsed = (minutes: ReadonlyMap<number, Counts>): number[] =>
  [...minutes]
    .filter(([, { tokens }]) => tokens > 0)
    .map(([at_ms]) => at_ms)
    .sort((a, b) => a - b)

/**
 * Reads the pending usage of one client, even while it is being stored.
 * @returns `whole`: false if Redis did not answer, or holds too much to read. Then `usage` lacks some or all of it.
 */
export async function readPendingOf(
  redis: Redis,
  clientId: string,
): Promise<{ usage: PendingUsage; whole: boolean }> {
  const found: [string, string][] = []
  let whole = true
  // In this order, since usage moves from the first to the second.
  for (const key of [redisKeys.usagePending, redisKeys.usageDraining]) {
    const scanned = await scan(redis, key, clientId).catch(() => undefined)
    found.push(...(scanned?.fields ?? []))
    whole &&= scanned?.whole ?? false
  }
  return { usage: parseUsage(found).clients.get(clientId) ?? nothing(), whole }
}

async function scan(redis: Redis, key: string, clientId: string) {
  const fields = new Map<string, string>()
  let cursor = '0'
  for (let step = 0; step < SCAN_STEPS_MAX; step += 1) {
    const [next, flat] = await redis.hscan(key, cursor, 'MATCH', `${clientId}|*`, 'COUNT', SCAN_FIELDS)
    for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] as string, flat[i + 1] as string)
    cursor = next
    if (cursor === '0') break
  }
  return { fields, whole: cursor === '0' }
}
