import type { Clock } from '#shared/process/clock.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'

/*
 * Which clients were used, how often, when, for which scopes and from where. The authorization server may not write
 * that to Postgres, so it counts in memory and adds the counts to a hash in Redis about every second; the resource
 * API moves that to Postgres (apps/api/clients/pending-usage.ts lists the fields). Losing some of it is allowed;
 * disturbing a request for it is not.
 */

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const CLIENTS_PER_CALL = 200
/** Of one client, between two flushes. */
const ADDRESSES_MAX = 20

/** ARGV: pairs of a field and what to add to it. */
const ADD = `for i = 1, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end`

/** The usage of a client since the last flush. */
interface Uses {
  tokens: number
  /** As requested: several, separated by spaces. */
  scopes: Set<string>
  addresses: Map<string, number>
}

export type UsageCounter = ReturnType<typeof createUsageCounter>

export function createUsageCounter({ redis, clock }: { redis: Redis; clock: Clock }) {
  let uses = new Map<string, Uses>()
  return {
    /** Counts one issued token. Takes no time and cannot fail. @param scope as granted, separated by spaces. */
    count(clientId: string, scope: string, address: string): void {
      let use = uses.get(clientId)
      if (!use) {
        use = { tokens: 0, scopes: new Set(), addresses: new Map() }
        uses.set(clientId, use)
      }
      use.tokens += 1
      use.scopes.add(scope)
      const fromThere = use.addresses.get(address)
      if (fromThere !== undefined || use.addresses.size < ADDRESSES_MAX) {
        use.addresses.set(address, (fromThere ?? 0) + 1)
      }
    },
    /**
     * Adds what was counted to Redis: to be called about each second. Never rejects; counts that Redis takes but does
     * not confirm are dropped.
     */
    async flush(): Promise<void> {
      // Counts wait in memory while Redis is away: there is at most one entry for each client.
      if (uses.size === 0 || redis.status !== 'ready') return
      const clients = [...uses]
      uses = new Map()
      const now_ms = clock.now()
      for (let from = 0; from < clients.length; from += CLIENTS_PER_CALL) {
        const { added, set } = fieldsOf(clients.slice(from, from + CLIENTS_PER_CALL), now_ms)
        await Promise.all([
          redis.eval(ADD, 1, redisKeys.usagePending, ...added),
          redis.hset(redisKeys.usagePending, ...set),
        ]).catch(() => {})
      }
    },
  }
}

/** Pairs of a field and what to add to it, and of a field and its new value. */
function fieldsOf(clients: [clientId: string, Uses][], now_ms: number) {
  const hour = Math.floor(now_ms / HOUR_MS)
  const minute = Math.floor(now_ms / MINUTE_MS)
  const added: (string | number)[] = []
  const set: (string | number)[] = []
  for (const [clientId, { tokens, scopes, addresses }] of clients) {
    added.push(`${clientId}|${hour}`, tokens, `${clientId}|m|${minute}`, tokens)
    set.push(`${clientId}|last`, now_ms)
    for (const scope of new Set([...scopes].flatMap((several) => several.split(' ')))) {
      set.push(`${clientId}|s|${scope}`, now_ms)
    }
    for (const [address, count] of addresses) {
      added.push(`${clientId}|a|${address}`, count)
      set.push(`${clientId}|l|${address}`, now_ms)
    }
  }
  return { added, set }
}
