import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { newClientId, newClientSecret, secretHint } from '../accounts/new-ids.ts'
import { invalidMember } from '../http/input.ts'
import { Problem } from '../problems/problems.ts'
import { DAY_MS } from '../usage/windows.ts'
import { type NewIssuerKeys, saveIssuer } from '../workload/issuer-of-client.ts'
import { createClient as storeClient } from './changes.ts'
import {
  CREATION_KEY_LIFETIME_MS,
  type CreationKey,
  findCreation,
  saveCreation,
  tryLockCreationKey,
} from './idempotency-keys.ts'
import {
  type ClientRecord,
  countActiveClients,
  findClient,
  holdReplaceable,
  type NewKey,
  type NewWorkload,
} from './records.ts'

export const ACTIVE_CLIENTS_MAX = 100

/** A caller's clock may differ from this one, and the request takes its time. */
const EXPIRY_TOLERANCE_MS = 5 * 60_000

export interface Creation {
  vendorId: string
  userId: string
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
  /** The value of the Idempotency-Key header. */
  idempotencyKey: string | undefined
  at: Date
}

/** `clientSecret` is null if the client has none, or if an earlier call created it. */
export type Created = { client: ClientRecord; isNew: boolean; clientSecret: string | null }

/**
 * Creates a client, or finds the one that an earlier request with the same Idempotency-Key created.
 * @throws Problem client_limit_reached, invalid_input, idempotency_in_progress or idempotency_key_reused. Nothing is
 * stored then.
 */
export function createClient(db: Database, creation: Creation): Promise<Created> {
  const { vendorId, userId, idempotencyKey } = creation
  return db.transaction(async (transaction) => {
    if (idempotencyKey === undefined) return insert(transaction, creation)
    const key = { vendorId, userId, idempotencyKey }
    const before = await created(transaction, key, creation)
    if (before) return { client: before, isNew: false, clientSecret: null }
    const result = await insert(transaction, creation)
    await saveCreation(transaction, key, {
      clientId: result.client.clientId,
      requestHash: requestHash(creation),
      createdAt: creation.at,
    })
    return result
  })
}

async function insert(transaction: Knex.Transaction, creation: Creation): Promise<Created> {
  const { vendorId, userId, name, scopes, replaces, authenticatesBy, issuerKeys, expiresAt, at } = creation
  if (expiresAt) requireUsefulExpiry(expiresAt, at)
  if ((await countActiveClients(transaction, vendorId)) >= ACTIVE_CLIENTS_MAX) {
    throw new Problem(
      'client_limit_reached',
      `A company can have ${ACTIVE_CLIENTS_MAX} active clients. Revoke one that is no longer used.`,
    )
  }
  if (replaces !== undefined && !(await holdReplaceable(transaction, { vendorId, clientId: replaces }))) {
    const detail = 'must be an Active client of this company that no Active client replaces yet'
    throw invalidMember('/replaces', detail)
  }
  if (authenticatesBy && 'workload' in authenticatesBy) {
    const { issuer } = authenticatesBy.workload
    await saveIssuer(transaction, { vendorId, issuer, sent: issuerKeys, at })
  }
  const clientId = newClientId()
  const clientSecret = newClientSecret()
  await storeClient(transaction, {
    clientId,
    vendorId,
    name,
    scopes,
    authenticatesBy: authenticatesBy ?? {
      secretHash: hashSecret(clientSecret),
      secretHint: secretHint(clientSecret),
    },
    expiresAt,
    replaces,
    createdBy: userId,
    createdAt: at,
  })
  const client = await existing(transaction, { vendorId, clientId })
  return { client, isNew: true, clientSecret: authenticatesBy ? null : clientSecret }
}

/** Only of a new client, so that a repeat finds the first one though its end has come nearer. */
function requireUsefulExpiry(expiresAt: Date, at: Date): void {
  const inTwoYears = new Date(at)
  inTwoYears.setUTCFullYear(at.getUTCFullYear() + 2)
  const isUseful =
    expiresAt.getTime() >= at.getTime() + DAY_MS - EXPIRY_TOLERANCE_MS &&
    expiresAt.getTime() <= inTwoYears.getTime() + EXPIRY_TOLERANCE_MS
  if (isUseful) return
  const detail = `must be a day to two years ahead: by this server's clock, it is ${at.toISOString()}`
  throw invalidMember('/expiresAt', detail)
}

/** Returns the client created under this key, if there is one. Locks the key. */
async function created(
  transaction: Knex.Transaction,
  key: CreationKey,
  creation: Creation,
): Promise<ClientRecord | undefined> {
  if (!(await tryLockCreationKey(transaction, key))) {
    throw new Problem(
      'idempotency_in_progress',
      'Wait for the first request to finish, then repeat this one.',
      {
        headers: { 'Retry-After': '1' },
      },
    )
  }
  const before = await findCreation(
    transaction,
    key,
    new Date(creation.at.getTime() - CREATION_KEY_LIFETIME_MS),
  )
  if (!before) return undefined
  if (!before.requestHash.equals(requestHash(creation))) {
    throw new Problem('idempotency_key_reused', 'Use a new Idempotency-Key for a new client.')
  }
  return existing(transaction, { vendorId: key.vendorId, clientId: before.clientId })
}

async function existing(
  transaction: Knex.Transaction,
  client: { vendorId: string; clientId: string },
): Promise<ClientRecord> {
  const record = await findClient(transaction, client)
  if (!record) throw new Error('a client that was just found or created is missing')
  return record
}

/**
 * Two bodies that request the same client are the same request. The order of the scopes does not matter. What is left
 * out adds nothing, so that a repeat to a newer version of the service has the same hash.
 */
function requestHash({ name, scopes, replaces, authenticatesBy, issuerKeys, expiresAt }: Creation): Buffer {
  const by: Partial<NewKey & NewWorkload> = authenticatesBy ?? {}
  const workload = by.workload && [
    by.workload.issuer,
    Object.entries(by.workload.claims).sort(),
    issuerKeys?.keysFrom === 'pasted' ? issuerKeys.keys : undefined,
  ]
  const requested = [
    name,
    [...scopes].sort(),
    ...(replaces === undefined ? [] : [replaces]),
    ...(authenticatesBy || expiresAt ? [{ key: by.keyThumbprint, expiresAt, workload }] : []),
  ]
  return createHash('sha256').update(JSON.stringify(requested)).digest()
}
