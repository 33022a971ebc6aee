import type { ClientStatus } from '#shared/oauth/client-credentials.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'
import type { NewKey } from '../keys/public-key.ts'
import type { CompanyNotice } from '../mail/outbox.ts'
import type { NewWorkload, WorkloadIdentity } from '../workload/workload.ts'

/* All SQL of the API for oauth_clients. */

export interface NewClientRecord {
  clientId: string
  vendorId: string
  name: string
  scopes: readonly Scope[]
  authenticatesBy: NewSecret | NewKey | NewWorkload
  /** From then on it gets no tokens. */
  expiresAt?: Date | undefined
  /** The client that this one replaces. */
  replaces?: string | undefined
  /** null: an operator. */
  createdBy: string | null
  createdAt: Date
}

export interface NewSecret {
  /** SHA-256 of the secret, 32 bytes. */
  secretHash: Buffer
  /** The secret's last four characters, by which a person recognizes it. */
  secretHint?: string
}

export async function insertClient(db: Queryable, client: NewClientRecord): Promise<void> {
  const credentials: Partial<NewSecret & NewKey & NewWorkload> = client.authenticatesBy
  await db.raw(
    `insert into oauth_clients
       (client_id, vendor_id, name, scopes, secret_hash, secret_hint, public_key, key_thumbprint,
        workload_issuer, workload_claims, workload_platform, expires_at, replaces, created_at, created_by)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      client.clientId,
      client.vendorId,
      client.name,
      client.scopes as string[],
      credentials.secretHash ?? null,
      credentials.secretHint ?? null,
      credentials.publicKey ? JSON.stringify(credentials.publicKey) : null,
      credentials.keyThumbprint ?? null,
      credentials.workload?.issuer ?? null,
      credentials.workload ? JSON.stringify(credentials.workload.claims) : null,
      credentials.workload?.platform ?? null,
      client.expiresAt ?? null,
      client.replaces ?? null,
      client.createdAt,
      client.createdBy,
    ],
  )
}

/**
 * Sets an Active client to Revoked. The database sets `revoked_at`.
 * Returns false when it was already Revoked, or the company has no such client.
 */
export async function markClientRevoked(
  db: Queryable,
  client: { vendorId: string; clientId: string; revokedBy: string | null },
): Promise<boolean> {
  const { rowCount } = await db.raw(
    `update oauth_clients set status = 'Revoked', revoked_by = ?
     where client_id = ? and vendor_id = ? and status = 'Active'`,
    [client.revokedBy, client.clientId, client.vendorId],
  )
  return rowCount === 1
}

/**
 * Counts the Active clients of a company. Other transactions that count them wait until this one ends, so
 * concurrent creations cannot exceed the limit.
 */
export async function countActiveClients(transaction: Queryable, vendorId: string): Promise<number> {
  await transaction.raw(`select pg_advisory_xact_lock(hashtextextended('active clients of ' || ?, 0))`, [
    vendorId,
  ])
  const { rows } = await transaction.raw(
    `select count(*) as active from oauth_clients where vendor_id = ? and status = 'Active'`,
    [vendorId],
  )
  return rows[0].active
}

/**
 * Returns the name of an Active client that no Active one replaces, and locks it against revocation until
 * the transaction ends; undefined if there is no such client. Call it after countActiveClients, whose lock
 * keeps others from creating a replacement.
 */
export async function lockReplaceableClient(
  transaction: Queryable,
  { vendorId, clientId }: { vendorId: string; clientId: string },
): Promise<string | undefined> {
  const { rows } = await transaction.raw(
    `select name from oauth_clients c where client_id = ? and vendor_id = ? and status = 'Active'
       and not exists (select from oauth_clients r
         where r.vendor_id = c.vendor_id and r.replaces = c.client_id and r.status = 'Active')
     for share`,
    [clientId, vendorId],
  )
  return rows[0]?.name
}

/** Returns the previous name; undefined when the company has no such client. */
export async function setClientName(
  transaction: Queryable,
  { vendorId, clientId, name }: { vendorId: string; clientId: string; name: string },
): Promise<string | undefined> {
  const { rows } = await transaction.raw(
    'select name from oauth_clients where client_id = ? and vendor_id = ? for no key update',
    [clientId, vendorId],
  )
  await transaction.raw('update oauth_clients set name = ? where client_id = ? and vendor_id = ?', [
    name,
    clientId,
    vendorId,
  ])
  return rows[0]?.name
}

/** A client as its company sees it. */
export interface ClientRecord {
  clientId: string
  name: string
  scopes: Scope[]
  /** null: created before hints were kept, or the client has no secret. */
  secretHint: string | null
  /** RFC 7638. null: the client has no key. */
  keyThumbprint: string | null
  /** null: the client has a secret or a key. */
  workload: WorkloadIdentity | null
  /** From then on it gets no tokens. null: never. */
  expiresAt: Date | null
  status: ClientStatus
  /** When someone first reported its secret as found. */
  secretFoundAt: Date | null
  /** Where it was found, as the reporter says. null: not found, or the reporter named no place. */
  secretFoundSource: string | null
  /** The client that this one replaces. */
  replaces: string | null
  /** The client that replaces this one: the Active one, else the newest. */
  replacedBy: string | null
  createdAt: Date
  /** null: an operator. */
  createdBy: string | null
  createdByName: string | null
  revokedAt: Date | null
  /** null: not revoked, or revoked by an operator. */
  revokedBy: string | null
  revokedByName: string | null
  /** Why the service revoked it. null: a person or an operator did, or it is Active. */
  revokedBecause: 'secret_found' | null
  /** `createdAt` in microseconds. With the id, it is the client's position in the list. */
  position: string
}

const CLIENT_RECORD = `
  select c.client_id as "clientId", c.name, c.scopes, c.secret_hint as "secretHint",
    c.key_thumbprint as "keyThumbprint", case when c.workload_issuer is not null then
      jsonb_build_object('issuer', c.workload_issuer, 'claims', c.workload_claims,
        'platform', c.workload_platform) end as workload,
    c.expires_at as "expiresAt", c.status, c.replaces,
    c.secret_found_at as "secretFoundAt", c.secret_found_source as "secretFoundSource",
    (select r.client_id from oauth_clients r where r.vendor_id = c.vendor_id and r.replaces = c.client_id
     order by r.status, r.created_at desc, r.client_id limit 1) as "replacedBy", c.created_at as "createdAt",
    c.created_by as "createdBy", creator.name as "createdByName", c.revoked_at as "revokedAt",
    c.revoked_by as "revokedBy", revoker.name as "revokedByName",
    (select a.detail->>'reason' from activity a
     where c.status = 'Revoked' and a.vendor_id = c.vendor_id and a.subject = c.client_id
       and a.action = 'client.revoked' order by a.entry_id limit 1) as "revokedBecause",
    to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as position
  from oauth_clients c
    left join users creator on creator.user_id = c.created_by
    left join users revoker on revoker.user_id = c.revoked_by`

/** Returns undefined when the company has no such client, even if another company does. */
export async function findClient(
  db: Queryable,
  { vendorId, clientId }: { vendorId: string; clientId: string },
): Promise<ClientRecord | undefined> {
  const { rows } = await db.raw(`${CLIENT_RECORD} where c.client_id = ? and c.vendor_id = ?`, [
    clientId,
    vendorId,
  ])
  return rows[0]
}

/** Returns the clients with these ids that belong to the company. */
export async function findClients(
  db: Queryable,
  { vendorId, clientIds }: { vendorId: string; clientIds: readonly string[] },
): Promise<ClientRecord[]> {
  const { rows } = await db.raw(`${CLIENT_RECORD} where c.client_id = any(?::text[]) and c.vendor_id = ?`, [
    clientIds as string[],
    vendorId,
  ])
  return rows
}

interface ClientSelection {
  vendorId: string
  status: ClientStatus | undefined
  /** Only clients whose secret was found. */
  secretFound?: boolean
  /** Only clients that this person created. */
  createdBy?: string | undefined
  /** The last client of the previous page. */
  after: { position: string; clientId: string } | undefined
  /** null: all of them. */
  limit: number | null
}

/** Returns clients of one company, newest first. */
export async function listClients(
  db: Queryable,
  { vendorId, status, secretFound, createdBy, after, limit }: ClientSelection,
): Promise<ClientRecord[]> {
  const { rows } = await db.raw(
    `${CLIENT_RECORD}
     where c.vendor_id = ? ${status ? 'and c.status = ?' : ''}
       ${secretFound ? 'and c.secret_found_at is not null' : ''}
       ${createdBy ? 'and c.created_by = ?' : ''}
       ${after ? 'and (c.created_at, c.client_id) < (?::timestamptz, ?)' : ''}
     order by c.created_at desc, c.client_id desc limit ?`,
    [
      vendorId,
      ...(status ? [status] : []),
      ...(createdBy ? [createdBy] : []),
      ...(after ? [after.position, after.clientId] : []),
      limit,
    ],
  )
  return rows
}

export interface FoundSecret {
  /** SHA-256 of the secret. */
  secretHash: Buffer
  /** Where it was found, in at most 200 ASCII characters. null: the reporter named no place. */
  source: string | null
}

export interface FoundClient {
  clientId: string
  vendorId: string
  name: string
  source: string | null
  foundAt: Date
}

/**
 * Marks the Active clients that have these secrets. Each keeps the time and source of its first report.
 * Returns those that were not marked before.
 */
export async function markFoundSecrets(
  db: Queryable,
  secrets: readonly FoundSecret[],
): Promise<FoundClient[]> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId", name, source, found_at as "foundAt"
     from mark_found_secrets(?::bytea[], ?::text[])`,
    bindings([secrets.map(({ secretHash }) => secretHash), secrets.map(({ source }) => source)]),
  )
  return rows
}

/** Returns Active clients of all companies but `except` whose secret was found, oldest report first. */
export async function listFoundClients(
  db: Queryable,
  { except, limit }: { except: readonly string[]; limit: number },
): Promise<{ clientId: string; vendorId: string }[]> {
  const { rows } = await db.raw(
    `select client_id as "clientId", vendor_id as "vendorId" from oauth_clients
     where secret_found_at is not null and status = 'Active' and client_id <> all(?::text[])
     order by secret_found_at limit ?`,
    bindings([except, limit]),
  )
  return rows
}

/** A client of any company, and the company's time zone. */
type CompanyClient = Pick<ClientRecord, 'clientId' | 'name'> & { vendorId: string; timezone: string }

const COMPANY_CLIENT = 'c.client_id as "clientId", c.name, c.vendor_id as "vendorId", o.timezone'

/** Clients by company: after one company, and not ending within another. */
interface CompanyPage {
  after: string
  /** At least so many clients, unless fewer are left. */
  limit: number
}

const COMPANY_PAGE =
  'and o.erased_at is null and c.vendor_id > ? order by c.vendor_id fetch first (?) rows with ties'

export type ExpiringClient = CompanyClient & { createdAt: Date; expiresAt: Date }

/**
 * Returns Active clients that expire in one of the windows. Leaves out those whose Active replacement is in
 * use, if they got no token since its first.
 */
export async function listExpiringClients(
  db: Queryable,
  { windows, after, limit }: CompanyPage & { windows: readonly [from: Date, to: Date][] },
): Promise<ExpiringClient[]> {
  const { rows } = await db.raw(
    `select ${COMPANY_CLIENT}, c.created_at as "createdAt", c.expires_at as "expiresAt"
     from oauth_clients c join companies o using (vendor_id)
     where c.status = 'Active' and (${windows.map(() => 'c.expires_at between ? and ?').join(' or ')})
       and not exists (
         select from oauth_clients r join client_usage n on n.client_id = r.client_id
           left join client_usage u on u.client_id = r.replaces
         where r.replaces = c.client_id and r.vendor_id = c.vendor_id and r.status = 'Active'
           and (u.last_used_at < n.first_used_at or u.client_id is null))
       ${COMPANY_PAGE}`,
    [...windows.flat(), after, limit],
  )
  return rows
}

/** A client that may be failing. */
export type SuspectedClient = CompanyClient &
  Pick<ClientRecord, 'createdAt' | 'revokedAt'> & { lastUsedAt: Date; longestQuiet_s: number | null }

/** Returns Active clients that were refused since a time and got their last token within a range. */
export async function listSuspectedClients(
  db: Queryable,
  page: CompanyPage & { refusedSince: Date; lastUsed: readonly [from: Date, to: Date] },
): Promise<SuspectedClient[]> {
  const { rows } = await db.raw(
    `select ${COMPANY_CLIENT}, c.created_at as "createdAt", c.revoked_at as "revokedAt",
       u.last_used_at as "lastUsedAt", u.longest_quiet_s as "longestQuiet_s"
     from client_usage u join oauth_clients c using (client_id) join companies o using (vendor_id)
     where u.client_id in (select client_id from client_usage_hourly where refused > 0 and hour > ?)
       and u.last_used_at between ? and ? and c.status = 'Active'
       ${COMPANY_PAGE}`,
    [page.refusedSince, ...page.lastUsed, page.after, page.limit],
  )
  return rows
}

const iso = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const namedClient = (client: string, usage: string) =>
  `jsonb_build_object('clientId', ${client}.client_id, 'name', ${client}.name,
     'lastTokenAt', ${iso(`${usage}.last_used_at`)})`

/** Returns notices about replaced clients without a token since `quietSince`, whose replacement is in use. */
export async function listQuietClients(
  db: Queryable,
  { quietSince, now, after, limit }: CompanyPage & { quietSince: Date; now: Date },
): Promise<(CompanyNotice<'replaced_client_quiet'> & { timezone: string })[]> {
  const { rows } = await db.raw(
    `select c.vendor_id as "vendorId", o.timezone, concat(c.client_id, ' ', r.client_id) as topic,
       jsonb_build_object('client', ${namedClient('c', 'u')}, 'replacement', ${namedClient('r', 'n')},
         'longestQuietHours', u.longest_quiet_s / 3600.0, 'seenSince', ${iso('c.created_at')}) as detail
     from oauth_clients r
       join oauth_clients c on c.client_id = r.replaces and c.vendor_id = r.vendor_id
       join companies o on o.vendor_id = c.vendor_id
       join client_usage u on u.client_id = c.client_id
       join client_usage n on n.client_id = r.client_id
     where r.status = 'Active' and c.status = 'Active' and u.last_used_at <= ?
       and (c.expires_at is null or c.expires_at > ?) ${COMPANY_PAGE}`,
    [quietSince, now, after, limit],
  )
  return rows
}
