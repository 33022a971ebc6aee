import { findMember } from '#shared/accounts/people.ts'
import { revokeClient } from '#shared/oauth/client-changes.ts'
import { findClient, holdClient } from '#shared/oauth/clients.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { missingSince } from '#shared/usage/missing-uses.ts'
import { type Armed, type Disarming, disarmRevocation, forgetArmed, holdArmed, listArmed } from './arming.ts'
import { endOfQuietDays } from './quiet-days.ts'
import { readUses } from './rotation-uses.ts'

/** Clients tried in one round. The others are tried in the next ones. */
const CLIENTS_A_ROUND = 50

export interface ArmedDependencies {
  db: Database
  clock: Clock
  revocation: Revocation
  /** Whether to stop after the client that is being tried. */
  ending?: () => boolean
}

interface ArmedClient {
  clientId: string
  vendorId: string
}

type Verdict = { revoke: Armed } | { disarm: Disarming; name: string } | 'wait'

/** Thrown in the transaction of a revocation that must not happen. Nothing is changed then. */
class NotDue extends Error {}

/**
 * Revokes the armed clients that got no token for the days that a person chose, and disarms those that nobody could
 * decide about any more. Any process may call it at any time: one of them tries a client, and judges it again in the
 * transaction that revokes it. Returns the ids of the revoked clients.
 * @throws if Postgres does not answer, or the revocation could not be confirmed. The next call goes on.
 */
export async function revokeArmed(deps: ArmedDependencies): Promise<string[]> {
  const revoked: string[] = []
  for (const client of await listArmed(deps.db, CLIENTS_A_ROUND)) {
    if (deps.ending?.()) break
    const verdict = await deps.db.transaction(async (transaction) => {
      const first = await judge(transaction, deps, client)
      if (first !== 'wait' && 'disarm' in first)
        await disarmRevocation(transaction, { ...client, name: first.name }, { reason: first.disarm })
      return first
    })
    if (verdict === 'wait' || 'disarm' in verdict) continue
    if (await revoke(deps, client)) revoked.push(client.clientId)
  }
  return revoked
}

/** Returns false, with nothing changed, if it is not due any more. */
async function revoke(deps: ArmedDependencies, client: ArmedClient): Promise<boolean> {
  try {
    await revokeClient(deps.revocation, {
      ...client,
      revokedBy: null,
      async because(transaction) {
        const verdict = await judge(transaction, deps, client)
        if (verdict === 'wait' || 'disarm' in verdict) throw new NotDue()
        await forgetArmed(transaction, client.clientId)
        const { armedBy, armedAt, quietDays } = verdict.revoke
        return { reason: 'armed', armedBy, armedAt: armedAt.toISOString(), quietDays }
      },
    })
    return true
  } catch (error) {
    if (error instanceof NotDue) return false
    throw error
  }
}

/** Until the transaction ends, no other process judges the client, nobody disarms it, and its replacement stays. */
async function judge(
  transaction: Queryable,
  { clock }: ArmedDependencies,
  { clientId, vendorId }: ArmedClient,
): Promise<Verdict> {
  const armed = await holdArmed(transaction, clientId)
  const old = await findClient(transaction, { vendorId, clientId })
  if (!armed || !old || old.status === 'Revoked') return 'wait'
  const { name, replacedBy } = old
  const replaced =
    replacedBy !== null && (await holdClient(transaction, { vendorId, clientId: replacedBy })) === 'Active'
  if (!replaced) return { disarm: 'replacement_revoked', name }
  if (!(await mayStillDecide(transaction, vendorId, armed.armedBy))) return { disarm: 'person_left', name }
  const replacementUsed = (await readUses(transaction, replacedBy)).lastUsedAt !== null
  const { revokesAt } = endOfQuietDays(armed.quietDays, {
    createdAt: old.createdAt,
    lastUsedAt: (await readUses(transaction, clientId)).lastUsedAt,
    missingSince: await missingSince(transaction),
    replacementUsed,
  })
  const due = replacementUsed && revokesAt <= (await earlierOf(transaction, clock))
  return due ? { revoke: armed } : 'wait'
}

async function mayStillDecide(transaction: Queryable, vendorId: string, userId: string): Promise<boolean> {
  const membership = await findMember(transaction, { vendorId, userId })
  return membership?.status === 'active' && membership.role !== 'member'
}

/** The earlier of the process's time and the database's: a clock that jumped ahead must not end the quiet days. */
async function earlierOf(transaction: Queryable, clock: Clock): Promise<Date> {
  const { rows } = await transaction.raw('select clock_timestamp() as now')
  return new Date(Math.min(clock.now(), rows[0].now.getTime()))
}
