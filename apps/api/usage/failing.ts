import { z } from 'zod'
import { addressSubject } from '#shared/stores/rate-limit.ts'
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

/** After this, no request with a token succeeds: it is valid for 900 s, and both clocks may be 120 s off. */
export const SUCCESS_POSSIBLE_MS = (900 + 240) * 1_000
/**
 * Anyone who knows a client id can have a request refused in its name. This must not make a healthy client
 * appear to fail, and one that runs once a day gets a token within this time.
 */
const OVERDUE_MS = 24 * HOUR_MS

/**
 * Returns the Active clients whose requests were all refused since their last token expired, and the Revoked
 * ones with requests refused since they were revoked. A client with a live token is never one of them: its
 * reads are not recorded. Returns undefined if Redis does not answer.
 * @param records clients of the company.
 * @param summaries the usage of each of them.
 */
export async function readFailing(
  stores: UsageStores,
  vendorId: string,
  records: readonly { clientId: string; createdAt: Date; revokedAt: Date | null }[],
  summaries: ReadonlyMap<string, Pick<UsageSummary, 'lastUsedAt'>>,
): Promise<ReadonlyMap<string, Failing> | undefined> {
  const now_ms = stores.clock.now()
  const suspects = records
    .map(({ clientId, createdAt, revokedAt }) => {
      if (revokedAt) return { clientId, after_ms: revokedAt.getTime(), isOverdue: false }
      const lastUsedAt_ms = summaries.get(clientId)?.lastUsedAt?.getTime()
      // If it was never used, a refusal in the millisecond of its creation counts too.
      const after_ms =
        lastUsedAt_ms === undefined ? createdAt.getTime() - 1 : lastUsedAt_ms + SUCCESS_POSSIBLE_MS
      return { clientId, after_ms, isOverdue: (lastUsedAt_ms ?? 0) <= now_ms - OVERDUE_MS }
    })
    .filter(({ after_ms }) => after_ms < now_ms)
  if (suspects.length === 0) return new Map()
  const refusals = await latestRefusals(stores.redis, vendorId, suspects, now_ms).catch(() => undefined)
  if (!refusals) return undefined
  if (refusals.size === 0) return new Map()
  const refusedClients = suspects.filter(({ clientId }) => refusals.has(clientId))
  const histories = await readHistories(
    stores,
    refusedClients.map(({ clientId, after_ms }) => {
      const newest = refusals.get(clientId)?.unproven?.newest ?? []
      return {
        clientId,
        after_ms,
        addresses: newest.flatMap(({ address }) => (address ? addressSubject(address) : [])),
      }
    }),
  )
  return new Map(
    refusedClients.flatMap(({ clientId, isOverdue }): [string, Failing][] => {
      const history = histories.get(clientId) ?? { addresses: new Set<string>() }
      const failing = findFailing(refusals.get(clientId) as LatestRefusals, { ...history, isOverdue })
      return failing ? [[clientId, failing]] : []
    }),
  )
}

interface History {
  /** The addresses (IPv6: networks) of its newest refusals from which it also got tokens. */
  addresses: ReadonlySet<string>
  /** The first hour of refusals since its tokens expired. Hourly counts are kept longer than refusals. */
  firstHour_ms?: number | undefined
}

/** Returns undefined if the refusals do not show that the client fails. */
function findFailing(
  { proven, unproven }: LatestRefusals,
  { isOverdue, addresses, firstHour_ms }: History & { isOverdue: boolean },
): Failing | undefined {
  const fromOwnAddress = unproven?.newest.find(
    ({ address }) => address !== undefined && addresses.has(addressSubject(address)),
  )
  const certain = [...(proven?.newest ?? []), ...(fromOwnAddress ? [fromOwnAddress] : [])].sort(
    (a, b) => b.at_ms - a.at_ms,
  )[0]
  const newest = certain ?? (isOverdue ? unproven?.newest[0] : undefined)
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

export async function readHistories(
  { db }: Pick<UsageStores, 'db'>,
  clients: readonly { clientId: string; after_ms: number; addresses: readonly string[] }[],
): Promise<Map<string, History>> {
  const { rows } = await db.raw(
    `select u."clientId",
       array(select refused_from from unnest(u.addresses) as refused_from
         -- The limit keeps this a look-up in the key: a client may have thousands of rows.
         where (select true from client_address_usage a
           where a.client_id = u."clientId" and a.address = refused_from limit 1)) as addresses,
       (select extract(epoch from min(hour)) from client_usage_hourly h
        where h.client_id = u."clientId" and h.refused > 0 and h.hour > to_timestamp(u.after_ms / 1000))
         as "firstHour_s"
     from jsonb_to_recordset(?::jsonb)
       as u ("clientId" text, after_ms double precision, addresses text[])`,
    [JSON.stringify(clients)],
  )
  return new Map(
    rows.map(({ clientId, addresses, firstHour_s }: HistoryRow) => [
      clientId,
      {
        addresses: new Set(addresses),
        firstHour_ms: firstHour_s === null ? undefined : Number(firstHour_s) * 1_000,
      },
    ]),
  )
}

interface HistoryRow {
  clientId: string
  addresses: string[]
  firstHour_s: string | null
}
