import { findMembership } from '#shared/accounts/people.ts'
import { revokeClient } from '#shared/oauth/client-changes.ts'
import { findClient } from '#shared/oauth/clients.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { type FoundRotation, readRotation } from './rotation-evidence.ts'
import { type ArmedPlan, type Disarming, disarmRevocation, holdArmed, listArmed } from './rotation-plans.ts'
import { rotationState } from './rotation-state.ts'
import { holdUsage } from './usage.ts'

/** Clients tried in one round. The others are tried in the next ones. */
const CLIENTS_A_ROUND = 50

export interface ArmedDependencies {
  db: Database
  redis: Redis
  clock: Clock
  revocation: Revocation
  /** Whether to stop after the client that is being tried. */
  ending?: () => boolean
}

interface ArmedClient {
  clientId: string
  vendorId: string
}

type Verdict = { revokeFor: string } | { disarm: Disarming; name: string } | 'wait'

/** Thrown in the transaction of a revocation that must not happen. Nothing is changed then. */
class NoLongerSafe extends Error {}

/**
 * Revokes the clients that are armed and safe to revoke, for those who armed them, and disarms those that must no longer
 * be revoked. Any process may call it at any time: one of them tries a client, and judges it again in the transaction
 * that revokes it. docs/rotation.md has the rules.
 * @returns the ids of the revoked clients.
 * @throws if Postgres does not answer, or the revocation could not be confirmed. The next call goes on.
 */
export async function revokeArmed(deps: ArmedDependencies): Promise<string[]> {
  const revoked: string[] = []
  for (const client of await listArmed(deps.db, CLIENTS_A_ROUND)) {
    if (deps.ending?.()) break
    const verdict = await deps.db.transaction(async (transaction) => {
      const first = await judge(transaction, deps, client)
      if (first !== 'wait' && 'disarm' in first)
        await disarmRevocation(transaction, { ...client, name: first.name }, { why: first.disarm })
      return first
    })
    if (verdict === 'wait' || 'disarm' in verdict) continue
    if (await revokeFor(verdict.revokeFor, deps, client)) revoked.push(client.clientId)
  }
  return revoked
}

/** @returns false, with nothing changed, if it is no longer safe. */
async function revokeFor(userId: string, deps: ArmedDependencies, client: ArmedClient): Promise<boolean> {
  try {
    await revokeClient(deps.revocation, {
      ...client,
      revokedBy: userId,
      async check(transaction) {
        const verdict = await judge(transaction, deps, client)
        if (verdict === 'wait' || !('revokeFor' in verdict) || verdict.revokeFor !== userId)
          throw new NoLongerSafe()
      },
    })
    return true
  } catch (error) {
    if (error instanceof NoLongerSafe) return false
    throw error
  }
}

/** Until the transaction ends, no other process judges the client, nobody disarms it, and no usage is moved. */
async function judge(
  transaction: Queryable,
  { redis, clock }: ArmedDependencies,
  { clientId, vendorId }: ArmedClient,
): Promise<Verdict> {
  const plan = await holdArmed(transaction, clientId)
  const old = await findClient(transaction, { vendorId, clientId })
  if (!plan || !old || old.status === 'Revoked' || !(await holdUsage(transaction))) return 'wait'
  const now_ms = await earlierOf(transaction, clock)
  const found = await readRotation(
    { redis, db: transaction, clock: { now: () => now_ms } },
    { vendorId, old },
  )
  const disarm = againstIt(found, plan) ?? (await personLeft(transaction, vendorId, plan))
  if (disarm) return { disarm, name: old.name }
  return rotationState(found.evidence, now_ms).state === 'safe' ? { revokeFor: plan.armedBy } : 'wait'
}

function againstIt({ evidence, replacement }: FoundRotation, { armedAt }: ArmedPlan): Disarming | undefined {
  const armedAt_ms = armedAt.getTime()
  if (!replacement) return 'no_replacement'
  if ((evidence.restoredAt_ms ?? 0) >= armedAt_ms) return 'database_restored'
  return (evidence.old.lastUsedAt_ms ?? 0) > armedAt_ms ? 'used' : undefined
}

async function personLeft(
  transaction: Queryable,
  vendorId: string,
  { armedBy: userId }: ArmedPlan,
): Promise<Disarming | undefined> {
  const membership = await findMembership(transaction, { vendorId, userId })
  return membership?.status === 'active' && membership.role !== 'member' ? undefined : 'person_left'
}

/** The earlier of the process's time and the database's: a clock that jumped ahead must not end a pause. */
async function earlierOf(transaction: Queryable, clock: Clock): Promise<number> {
  const { rows } = await transaction.raw('select clock_timestamp() as now')
  return Math.min(clock.now(), rows[0].now.getTime())
}
