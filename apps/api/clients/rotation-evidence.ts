import { type ClientRecord, findClient } from '#shared/oauth/clients.ts'
import { FENCED } from '#shared/revocation/records.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { RefusalRecord } from '#shared/usage/client-usage.ts'
import { listPositions, readRefusals } from '#shared/usage/refusals.ts'
import { type RotationPlan, readPlan } from './rotation-plans.ts'
import type { RotationEvidence, UseEvidence } from './rotation-state.ts'
import { readUsageOf, type UsageHistory } from './usage-history.ts'
import type { UsageStores } from './usage-windows.ts'

/** What Redis keeps of a client's refusals. */
const REFUSALS_READ = 250

export interface FoundRotation {
  evidence: RotationEvidence
  /** The Active client that replaces it. */
  replacement: ClientRecord | undefined
  plan: RotationPlan
  /** When the replacement's secret was put away. */
  secretPutAwayAt: Date | null
  /** In the last 24 whole hours. */
  tokensLastDay: number
}

/**
 * Reads everything that a rotation is judged by. `evidence.whole` is false if Redis does not answer, or while the
 * database may lack uses after a restore.
 * @param stores.db may be a transaction.
 * @throws if Postgres does not answer.
 */
export async function readRotation(
  stores: UsageStores,
  { vendorId, old }: { vendorId: string; old: ClientRecord },
): Promise<FoundRotation> {
  const { db } = stores
  const replacedBy =
    old.replacedBy === null ? undefined : await findClient(db, { vendorId, clientId: old.replacedBy })
  const replacement = replacedBy?.status === 'Active' ? replacedBy : undefined
  const usage = await readUsageOf(stores, old.clientId)
  const newUsage = replacement && (await readUsageOf(stores, replacement.clientId))
  const refused = await readRefused(stores, vendorId, old).catch(() => undefined)
  const { fenced, restoredAt } = await readRestore(db)
  const plan = await readPlan(db, old.clientId)
  const secretPutAwayAt = replacement ? (await readPlan(db, replacement.clientId)).secretPutAwayAt : null
  return {
    evidence: {
      whole: usage.whole && (newUsage?.whole ?? true) && refused !== undefined && !fenced,
      old: { ...usesIn(usage), revoked: old.status === 'Revoked' },
      replacement: replacement &&
        newUsage && {
          ...usesIn(newUsage),
          createdAt_ms: replacement.createdAt.getTime(),
          secretPutAwayAt_ms: secretPutAwayAt?.getTime(),
        },
      refusedSinceRevoke: refused?.length ?? 0,
      refusedAddresses: latestOf(refused ?? []),
      restoredAt_ms: restoredAt?.getTime(),
    },
    replacement,
    plan,
    secretPutAwayAt,
    tokensLastDay: usage.hours.slice(-24).reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

function usesIn({ lastUsedAt_ms, days, hours, minutes, addresses }: UsageHistory): UseEvidence {
  const used = (counts: UsageHistory['hours']) =>
    counts.filter(({ tokens }) => tokens > 0).map(({ at_ms }) => at_ms)
  return { lastUsedAt_ms, days, hours: used(hours), minutes: used(minutes), addresses }
}

/** The requests of a client, with its secret or its tokens, that were refused because it is revoked. */
async function readRefused(
  { redis, clock }: UsageStores,
  vendorId: string,
  { clientId, revokedAt }: ClientRecord,
) {
  if (revokedAt === null) return []
  const now_ms = clock.now()
  const positions = await listPositions(redis, {
    of: clientId,
    after: undefined,
    limit: REFUSALS_READ,
    now_ms,
  })
  const requestIds = positions.map(([, requestId]) => requestId)
  const refusals = await readRefusals(redis, { vendorId, requestIds, now_ms })
  // Tokens can also have been revoked one by one before.
  return refusals.filter(
    ({ reason, at_ms }) =>
      reason === 'revoked_client' || (reason === 'revoked' && at_ms >= revokedAt.getTime()),
  )
}

/** @param refused the latest first. */
function latestOf(refused: readonly RefusalRecord[]): Map<string, number> {
  const latest = new Map<string, number>()
  for (const { address, at_ms } of refused)
    if (address !== undefined && !latest.has(address)) latest.set(address, at_ms)
  return latest
}

async function readRestore(db: Queryable): Promise<{ fenced: boolean; restoredAt: Date | null }> {
  const { rows } = await db.raw(
    `select ${FENCED} as fenced, (select max(lowered_at) from restore_fences) as "restoredAt"`,
  )
  return rows[0]
}
