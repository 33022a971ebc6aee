import type { Queryable } from '#shared/stores/postgres.ts'

/** When a client got tokens, and from where. */
export interface ClientUses {
  /** null: never. */
  firstUsedAt: Date | null
  lastUsedAt: Date | null
  /** The longest time between two of its tokens; null if it got fewer than two. */
  longestQuiet_s: number | null
  /** The latest first. */
  addresses: { address: string; lastUsedAt: Date }[]
}

/** @throws if Postgres does not answer. */
export async function readUses(db: Queryable, clientId: string): Promise<ClientUses> {
  const addresses = await db.raw(
    `select address, max(last_seen_at) as "lastUsedAt" from client_address_usage
     where client_id = ? group by address order by "lastUsedAt" desc, address limit 200`,
    [clientId],
  )
  const { rows } = await db.raw(
    `select first_used_at as "firstUsedAt", last_used_at as "lastUsedAt", longest_quiet_s as "longestQuiet_s"
     from client_usage where client_id = ?`,
    [clientId],
  )
  const [uses = { firstUsedAt: null, lastUsedAt: null, longestQuiet_s: null }] = rows
  return { ...uses, addresses: addresses.rows }
}
