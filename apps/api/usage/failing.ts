import { z } from 'zod'
import { instant } from '../http/instant.ts'
import type { UsageSummary } from './read.ts'
import { type LatestRefusals, latestRefusals } from './refusals.ts'
import { HOUR_MS, type UsageStores } from './windows.ts'

export const refusalCause = z.string().meta({ examples: ['wrong_secret'] })

export const ClientFailing = z
  .object({
    since: instant,
    cause: refusalCause,
    address: z.string().nullable(),
    senderKnown: z.boolean(),
  })
  .meta({
    id: 'ClientFailing',
    description:
      'Requests were refused in the last 24 hours, and none can have succeeded `since`: its tokens had expired. `cause` and `address` are of the newest. Unless `senderKnown`, anyone who knows the client id may have sent them; they count after 24 hours without a token. Of a Revoked client: what was refused since.',
  })

export type Failing = z.infer<typeof ClientFailing>

/** A token's life (900 s), and clocks 120 s off on either side: later than this after a token, no request succeeds. */
const SUCCESS_POSSIBLE_MS = (900 + 240) * 1_000
/**
 * Anyone who knows a client id can have a request refused in its name. A client in good health that runs once a day
 * has had a token within this time, so such a request does not make it appear to fail.
 */
const OVERDUE_MS = 24 * HOUR_MS

/**
 * Finds the Active clients whose requests were only refused since their last token expired, and the Revoked ones whose
 * requests were refused since. A client that holds a live token may be reading with it, which leaves no record, so it is
 * never one of them. Returns undefined if Redis does not answer.
 * @param used the usage of all of `records`.
 */
export async function readFailing(
  stores: UsageStores,
  vendorId: string,
  records: readonly { clientId: string; createdAt: Date; revokedAt: Date | null }[],
  used: ReadonlyMap<string, UsageSummary>,
): Promise<ReadonlyMap<string, Failing> | undefined> {
  const now_ms = stores.clock.now()
  const suspects = records
    .map(({ clientId, createdAt, revokedAt }) => {
      if (revokedAt) return { clientId, after_ms: revokedAt.getTime(), overdue: false }
      const lastUsedAt_ms = used.get(clientId)?.lastUsedAt?.getTime()
      const after_ms =
        lastUsedAt_ms === undefined ? createdAt.getTime() - 1 : lastUsedAt_ms + SUCCESS_POSSIBLE_MS
      return { clientId, after_ms, overdue: (lastUsedAt_ms ?? 0) <= now_ms - OVERDUE_MS }
    })
    .filter(({ after_ms }) => after_ms < now_ms)
  if (suspects.length === 0) return new Map()
  const refused = await latestRefusals(stores.redis, vendorId, suspects, now_ms).catch(() => undefined)
  if (!refused) return undefined
  if (refused.size === 0) return new Map()
  const found = suspects.filter(({ clientId }) => refused.has(clientId))
  const past = await readPast(stores, found)
  return new Map(
    found.flatMap((suspect): [string, Failing][] => {
      const { addresses, firstHour_ms } = past.get(suspect.clientId) ?? { addresses: new Set<string>() }
      const latest = refused.get(suspect.clientId) as LatestRefusals
      const failing = judge(latest, { ...suspect, addresses, firstHour_ms })
      return failing ? [[suspect.clientId, failing]] : []
    }),
  )
}

interface Past {
  /** From which it has got tokens. */
  addresses: ReadonlySet<string>
  /** The start of the first hour of refusals since its tokens expired, as refusals themselves are kept for a day. */
  firstHour_ms?: number | undefined
}

function judge(
  { proven, unproven }: LatestRefusals,
  { overdue, addresses, firstHour_ms }: Past & { overdue: boolean },
): Failing | undefined {
  const fromKnown = unproven?.newest.find(({ address }) => address !== undefined && addresses.has(address))
  const certain = [...(proven?.newest ?? []), ...(fromKnown ? [fromKnown] : [])].sort(
    (a, b) => b.at_ms - a.at_ms,
  )[0]
  const newest = certain ?? (overdue ? unproven?.newest[0] : undefined)
  if (!newest) return undefined
  const first_ms = Math.min(...[proven, unproven].map((kind) => kind?.first_ms ?? Number.POSITIVE_INFINITY))
  const hourOfFirst_ms = first_ms - (first_ms % HOUR_MS)
  const since_ms = firstHour_ms !== undefined && firstHour_ms < hourOfFirst_ms ? firstHour_ms : first_ms
  return {
    since: new Date(since_ms).toISOString(),
    cause: newest.reason,
    address: newest.address ?? null,
    senderKnown: certain !== undefined,
  }
}

async function readPast(
  { db }: UsageStores,
  clients: readonly { clientId: string; after_ms: number }[],
): Promise<Map<string, Past>> {
  const { rows } = await db.raw(
    `select u."clientId",
       array(select distinct address from client_address_usage a where a.client_id = u."clientId") as addresses,
       (select extract(epoch from min(hour)) from client_usage_hourly h
        where h.client_id = u."clientId" and h.refused > 0 and h.hour > to_timestamp(u.after_ms / 1000))
         as "firstHour_s"
     from jsonb_to_recordset(?::jsonb) as u ("clientId" text, after_ms double precision)`,
    [JSON.stringify(clients)],
  )
  return new Map(
    rows.map(({ clientId, addresses, firstHour_s }: PastRow) => [
      clientId,
      {
        addresses: new Set(addresses),
        firstHour_ms: firstHour_s === null ? undefined : Number(firstHour_s) * 1_000,
      },
    ]),
  )
}

interface PastRow {
  clientId: string
  addresses: string[]
  firstHour_s: string | null
}
