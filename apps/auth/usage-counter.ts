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

/** ARGV: commands, each a name, a field and a number. One script, so that no count is stored without its time. */
const STORE = `for i = 1, #ARGV, 3 do redis.call(ARGV[i], KEYS[1], ARGV[i + 1], ARGV[i + 2]) end`

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
        const commands = commandsOf(clients.slice(from, from + CLIENTS_PER_CALL), now_ms)
        await redis.eval(STORE, 1, redisKeys.usagePending, ...commands.flat()).catch(() => {})
      }
    },
  }
}

/** What adds the counts to the hash, and sets the times. */
function commandsOf(clients: [clientId: string, Uses][], now_ms: number) {
  const hour = Math.floor(now_ms / HOUR_MS)
  const minute = Math.floor(now_ms / MINUTE_MS)
  const commands: ['HINCRBY' | 'HSET', field: string, value: number][] = []
  const add = (field: string, count: number) => commands.push(['HINCRBY', field, count])
  const setTime = (field: string) => commands.push(['HSET', field, now_ms])
  for (const [clientId, { tokens, scopes, addresses }] of clients) {
    add(`${clientId}|${hour}`, tokens)
    add(`${clientId}|m|${minute}`, tokens)
    setTime(`${clientId}|last`)
    for (const scope of new Set([...scopes].flatMap((several) => several.split(' ')))) {
      setTime(`${clientId}|s|${scope}`)
    }
    for (const [address, count] of addresses) {
      add(`${clientId}|a|${address}`, count)
      setTime(`${clientId}|l|${address}`)
    }
  }
  return commands
}
