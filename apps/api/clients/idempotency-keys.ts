import { createHash } from 'node:crypto'
import type { Scope } from '#shared/oauth/scopes.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import type { NewKey } from '../keys/public-key.ts'
import { Problem } from '../problems/problems.ts'
import { purgeByTime } from '../stores/purge.ts'
import type { NewIssuerKeys } from '../workload/trust-issuer.ts'
import type { NewWorkload } from '../workload/workload.ts'

/* All SQL for client_creation_keys: which client each Idempotency-Key created. */

/** How long a repeat with the same Idempotency-Key returns the first client. */
export const IDEMPOTENCY_KEY_LIFETIME_HOURS = 24
const IDEMPOTENCY_KEY_LIFETIME_MS = IDEMPOTENCY_KEY_LIFETIME_HOURS * 3_600_000

/** What a person enters to create a client. */
export interface ClientInput {
  name: string
  scopes: readonly Scope[]
  /** The client that the new one replaces. */
  replaces: string | undefined
  /** undefined: the client gets a secret. */
  authenticatesBy: NewKey | NewWorkload | undefined
  /** The keys of the workload's issuer. */
  issuerKeys: NewIssuerKeys
  /** undefined: never. */
  expiresAt: Date | undefined
}

/**
 * Returns a hash that is the same for two requests for the same client. The order of the scopes does not
 * matter. A member that is left out adds nothing, so that new members leave the hashes of others as they are.
 */
export function hashRequest(input: ClientInput): Buffer {
  const { name, scopes, replaces, authenticatesBy, issuerKeys, expiresAt } = input
  const credentials: Partial<NewKey & NewWorkload> = authenticatesBy ?? {}
  const workload = credentials.workload && [
    credentials.workload.issuer,
    credentials.workload.platform,
    Object.entries(credentials.workload.claims).sort(),
    issuerKeys?.keysFrom === 'pasted' ? issuerKeys.keys : undefined,
  ]
  const members = [
    name,
    [...scopes].sort(),
    ...(replaces === undefined ? [] : [replaces]),
    ...(authenticatesBy || expiresAt ? [{ key: credentials.keyThumbprint, expiresAt, workload }] : []),
  ]
  return createHash('sha256').update(JSON.stringify(members)).digest()
}

interface IdempotentRequest {
  vendorId: string
  userId: string
  idempotencyKey: string
  requestHash: Buffer
  at: Date
}

/**
 * Returns the id of the client that an earlier request with this key created; undefined if there is none.
 * Locks the key until the transaction ends.
 * @throws Problem idempotency_in_progress if another transaction has locked the key, or
 * idempotency_key_reused if the earlier request was for another client.
 */
export async function findByIdempotencyKey(
  transaction: Queryable,
  { vendorId, userId, idempotencyKey, requestHash, at }: IdempotentRequest,
): Promise<string | undefined> {
  const lock = await transaction.raw(
    `select pg_try_advisory_xact_lock(hashtextextended('client creation ' || ?, 0)) as locked`,
    [JSON.stringify([vendorId, userId, idempotencyKey])],
  )
  if (!lock.rows[0].locked) {
    const detail = 'Wait for the first request to finish, then repeat this one.'
    throw new Problem('idempotency_in_progress', detail, { headers: { 'Retry-After': '1' } })
  }
  const { rows } = await transaction.raw(
    `select client_id as "clientId", request_hash as "requestHash" from client_creation_keys
     where vendor_id = ? and user_id = ? and idempotency_key = ? and created_at > ?`,
    [vendorId, userId, idempotencyKey, new Date(at.getTime() - IDEMPOTENCY_KEY_LIFETIME_MS)],
  )
  const [earlier] = rows
  if (!earlier) return undefined
  if (!earlier.requestHash.equals(requestHash))
    throw new Problem('idempotency_key_reused', 'Use a new Idempotency-Key for a new client.')
  return earlier.clientId
}

/** Saves which client a key created, replacing an expired entry of the same key. */
export async function saveIdempotencyKey(
  transaction: Queryable,
  { vendorId, userId, idempotencyKey, requestHash, at }: IdempotentRequest,
  clientId: string,
): Promise<void> {
  await transaction.raw(
    `insert into client_creation_keys
       (vendor_id, user_id, idempotency_key, request_hash, client_id, created_at)
     values (?, ?, ?, ?, ?, ?)
     on conflict (vendor_id, user_id, idempotency_key) do update set request_hash = excluded.request_hash,
       client_id = excluded.client_id, created_at = excluded.created_at`,
    [vendorId, userId, idempotencyKey, requestHash, clientId, at],
  )
}

export const IDEMPOTENCY_KEY_PURGE = purgeByTime({
  table: 'client_creation_keys',
  key: 'vendor_id, user_id, idempotency_key',
  time: 'created_at',
  kept_ms: IDEMPOTENCY_KEY_LIFETIME_MS,
})
