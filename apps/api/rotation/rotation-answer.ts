import type { z } from 'zod'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { type ClientRecord, findClient } from '../clients/records.ts'
import type { ClientRotation } from '../clients/schemas.ts'
import { unavailable } from '../problems/problems.ts'
import { usesMissingBefore } from '../usage/missing-uses.ts'
import type { RefusalRecord } from '../usage/refusals.ts'
import { listPositions, readRefusals } from '../usage/refusals.ts'
import { type ClientUses, readUses } from '../usage/uses.ts'
import type { UsageStores } from '../usage/windows.ts'

type Answer = z.infer<typeof ClientRotation>

/** What Redis keeps of a client's refusals. */
const REFUSALS_READ = 250
const HOUR_S = 3_600

/**
 * What was seen of a client and the one that replaces it, as the API returns it.
 * @throws if Postgres or Redis does not answer.
 */
export async function rotationAnswer(
  stores: UsageStores,
  { vendorId, old }: { vendorId: string; old: ClientRecord },
): Promise<Answer> {
  const { db } = stores
  const uses = await readUses(db, old.clientId)
  const replacement =
    old.replacedBy === null ? null : await replacementAnswer(stores, vendorId, old.replacedBy)
  const quiet_h = uses.longestQuiet_s === null ? null : uses.longestQuiet_s / HOUR_S
  return {
    old: {
      clientId: old.clientId,
      status: old.status,
      lastUsedAt: textOf(uses.lastUsedAt),
      longestQuietHours: quiet_h && Math.round(quiet_h * 100) / 100,
      addresses: addressesIn(uses),
    },
    replacement,
    refusedSinceRevoke: await refusedSinceRevoke(stores, vendorId, old),
    seenSince: old.createdAt.toISOString(),
    usesMissingSince: textOf(await usesMissingSince(db, old, uses)),
  }
}

const textOf = (at: Date | null): string | null => at?.toISOString() ?? null

const addressesIn = ({ addresses }: ClientUses) =>
  addresses.map(({ address, lastUsedAt }) => ({ address, lastUsedAt: lastUsedAt.toISOString() }))

async function replacementAnswer(
  { db }: UsageStores,
  vendorId: string,
  clientId: string,
): Promise<Answer['replacement']> {
  const client = await findClient(db, { vendorId, clientId })
  if (!client) return null
  const uses = await readUses(db, clientId)
  return {
    clientId,
    status: client.status,
    firstUsedAt: textOf(uses.firstUsedAt),
    lastUsedAt: textOf(uses.lastUsedAt),
    addresses: addressesIn(uses),
  }
}

/** Nothing says when a loss began, but every use up to the last known one was counted. */
async function usesMissingSince(
  db: Queryable,
  { createdAt }: ClientRecord,
  { lastUsedAt }: ClientUses,
): Promise<Date | null> {
  const known = lastUsedAt ?? createdAt
  const before = await usesMissingBefore(db)
  return before && before > known ? known : null
}

/**
 * The requests of a client, with its secret or its tokens, that were refused because it is revoked.
 * @throws Problem unavailable if Redis does not answer.
 */
async function refusedSinceRevoke(
  { redis, clock }: UsageStores,
  vendorId: string,
  { clientId, revokedAt }: ClientRecord,
): Promise<Answer['refusedSinceRevoke']> {
  if (revokedAt === null) return { count: 0, lastAt: null, addresses: [] }
  const refusals = await latestRefusals(redis, { vendorId, clientId, now_ms: clock.now() }).catch((error) => {
    throw unavailable('Refused requests cannot be read right now.', error)
  })
  // Tokens can also have been revoked one by one before.
  const refused = refusals.filter(
    ({ reason, at_ms }) =>
      reason === 'revoked_client' || (reason === 'revoked' && at_ms >= revokedAt.getTime()),
  )
  const [latest] = refused
  return {
    count: refused.length,
    lastAt: latest ? new Date(latest.at_ms).toISOString() : null,
    addresses: [...new Set(refused.flatMap(({ address }) => address ?? []))],
  }
}

async function latestRefusals(
  redis: Redis,
  { vendorId, clientId, now_ms }: { vendorId: string; clientId: string; now_ms: number },
): Promise<RefusalRecord[]> {
  const limit = REFUSALS_READ
  const positions = await listPositions(redis, { of: clientId, after: undefined, limit, now_ms })
  const requestIds = positions.map(([, requestId]) => requestId)
  return readRefusals(redis, { vendorId, requestIds, now_ms })
}
