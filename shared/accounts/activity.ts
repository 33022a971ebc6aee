import type { Queryable } from '#shared/stores/postgres.ts'

export const ACTIVITY_ACTIONS = [
  'client.created',
  'client.renamed',
  'client.revoked',
  'client.secret_found',
  'client.revocation_armed',
  'client.revocation_disarmed',
  'callback.saved',
  'company.created',
  'person.added',
  'person.invited',
  'person.joined',
  'person.changed',
  'person.linked',
  'person.unlinked',
  'person.password_reset',
  'person.removed',
  'person.erased',
  'address.claimed',
  'invitation.withdrawn',
  'analytics.imported',
] as const
export type ActivityAction = (typeof ACTIVITY_ACTIONS)[number]

/** What operators do to the service as a whole. No company sees these entries. */
export type ServiceAction =
  | 'company.erased'
  | 'person.exported'
  | 'signing_key.rotated'
  | 'signing_key.reencrypted'
  | 'signing_key.revoked'
  | 'service.created'
  | 'service.revoked'
  | 'database.fenced'
  | 'database.repaired'
  | 'database.confirmed'

/** Someone who uses the admin command. */
export interface Operator {
  name: string
  /** The entries in this name so far, including those of transactions that were rolled back. */
  entryIds: number[]
}

/** The id of a user, or an operator. */
export type Actor = string | Operator

/** `userId` is null for what the service did on its own. */
type DoneBy = { userId: string | null } | { operator: Operator }

/** @param actor null: the service. */
export const doneBy = (actor: Actor | null): DoneBy =>
  actor === null || typeof actor === 'string' ? { userId: actor } : { operator: actor }

interface Act {
  /** The id of the client, person, company, key or service, the host of the callback, or `database`. */
  subject: string
  detail?: Record<string, unknown>
}

export type ActivityEntry =
  | (Act & DoneBy & { vendorId: string; action: ActivityAction })
  /** `vendorId` is null for the service as a whole, and for an account that belongs to no company. */
  | (Act & { operator: Operator; vendorId: string | null; action: ActivityAction | ServiceAction })

/** Appends an entry; call it in the transaction of the change that it records. */
export async function appendActivity(db: Queryable, entry: ActivityEntry): Promise<void> {
  const { vendorId, action, subject, detail = {} } = entry
  const values = [vendorId, action, subject, JSON.stringify(detail)]
  if ('userId' in entry) {
    await db.raw(
      'insert into activity (vendor_id, action, subject, detail, user_id) values (?, ?, ?, ?, ?)',
      [...values, entry.userId],
    )
    return
  }
  const { name, entryIds } = entry.operator
  const { rows } = await db.raw(
    `insert into activity (vendor_id, action, subject, detail, operator) values (?, ?, ?, ?, ?)
     returning entry_id as "entryId"`,
    [...values, name],
  )
  entryIds.push(rows[0].entryId)
}

export interface OperatorAct {
  at: Date
  operator: string
  /** null: it concerns no company. */
  vendorId: string | null
  action: ActivityAction | ServiceAction
  subject: string
}

/** The committed entries of an operator, oldest first. Needs the rights of `integration_operator`. */
export async function listOperatorActs(db: Queryable, { entryIds }: Operator): Promise<OperatorAct[]> {
  const { rows } = await db.raw(
    `select at, operator, vendor_id as "vendorId", action, subject from activity
     where entry_id = any(?::bigint[]) order by entry_id`,
    [entryIds],
  )
  return rows
}

/**
 * Appends the entry `address.claimed` unless the company has one about this user. Nobody of the company did it, so it
 * has no author. Returns whether it appended one.
 */
export async function appendAddressClaim(
  transaction: Queryable,
  { vendorId, userId, detail }: { vendorId: string; userId: string; detail: Record<string, unknown> },
): Promise<boolean> {
  const action: ActivityAction = 'address.claimed'
  const { rowCount } = await transaction.raw(
    `insert into activity (vendor_id, action, subject, detail) select ?, ?, ?, ?
     where not exists (select from activity where vendor_id = ? and subject = ? and action = ?)`,
    [vendorId, action, userId, JSON.stringify(detail), vendorId, userId, action],
  )
  return rowCount === 1
}

/** Whether the last thing that happened to the membership of this address in the company was its removal. */
export async function wasRemoved(
  db: Queryable,
  { vendorId, email }: { vendorId: string; email: string },
): Promise<boolean> {
  const { rows } = await db.raw(
    `select action from activity
     where vendor_id = ? and action in ('person.removed', 'person.invited', 'person.added', 'person.joined')
       and detail->>'email' = ? order by entry_id desc limit 1`,
    [vendorId, email],
  )
  return rows[0]?.action === 'person.removed'
}

/**
 * RFC 3339 in milliseconds, or in microseconds where they matter: entries older than the log have them. The era tells a
 * time moved to before Christ, which no filter would find, from the same time after.
 */
const AT = `regexp_replace(to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US AD'), '(000|) AD$', 'Z')`

/** The receipt of a client's revocation, if it was signed. */
export async function findRevocationReceipt(
  db: Queryable,
  { vendorId, clientId }: { vendorId: string; clientId: string },
): Promise<string | undefined> {
  const { rows } = await db.raw(
    `select detail->>'receipt' as receipt from activity
     where vendor_id = ? and subject = ? and action = 'client.revoked' order by entry_id limit 1`,
    [vendorId, clientId],
  )
  return rows[0]?.receipt ?? undefined
}

export interface ActivityRecord {
  entryId: number
  at: string
  action: ActivityAction
  subject: string
  detail: Record<string, unknown>
  /** null: an operator, or the service. */
  userId: string | null
  userName: string | null
  /** null: the entry has no place in the log yet. */
  leafIndex: number | null
  /** null without a place in the log, and once the detail is erased. */
  salt: Buffer | null
  /** null without a place in the log. */
  detailHash: Buffer | null
  /** null: no operator did it. */
  operatorHash: Buffer | null
}

export interface ActivityFilter {
  /** null: what operators did. */
  userId?: string | null | undefined
  action?: ActivityAction | undefined
  subject?: string | undefined
  /** From this time on. */
  from?: Date | undefined
  /** Before this time. */
  to?: Date | undefined
}

/** Entries of one company, newest first, from the one before `before` on. */
export async function listActivity(
  db: Queryable,
  {
    vendorId,
    before = Number.MAX_SAFE_INTEGER,
    limit,
    userId,
    action,
    subject,
    from,
    to,
  }: ActivityFilter & { vendorId: string; before: number | undefined; limit: number },
): Promise<ActivityRecord[]> {
  const conditions: [sql: string, value: unknown][] = [
    ['a.vendor_id = ?', vendorId],
    ['a.entry_id < ?', before],
  ]
  if (userId !== undefined) conditions.push(['a.user_id is not distinct from ?', userId])
  if (action !== undefined) conditions.push(['a.action = ?', action])
  if (subject !== undefined) conditions.push(['a.subject = ?', subject])
  if (from !== undefined) conditions.push(['a.at >= ?', from])
  if (to !== undefined) conditions.push(['a.at < ?', to])
  const { rows } = await db.raw(
    `select a.entry_id as "entryId", ${AT} as at, a.action, a.subject, a.detail, a.user_id as "userId",
       u.name as "userName", a.leaf_index as "leafIndex", a.salt, a.detail_hash as "detailHash",
       a.operator_hash as "operatorHash"
     from activity a left join users u using (user_id)
     where ${conditions.map(([sql]) => sql).join(' and ')} order by a.entry_id desc limit ?`,
    [...conditions.map(([, value]) => value as string), limit],
  )
  return rows
}

/** An entry as the log covers it. */
export interface LogEntry {
  entryId: number
  at: string
  vendorId: string | null
  userId: string | null
  action: string
  subject: string
  detail: Record<string, unknown>
  operatorHash: Buffer | null
}

const LOG_ENTRY = `a.entry_id as "entryId", ${AT} as at, a.vendor_id as "vendorId", a.user_id as "userId", a.action,
  a.subject, a.detail, a.operator_hash as "operatorHash"`

/** Locks committed entries that have no place in the log yet, oldest first, so that none is erased after it is hashed. */
export async function lockEntriesWithoutLeaf(transaction: Queryable, limit: number): Promise<LogEntry[]> {
  const { rows } = await transaction.raw(
    `select ${LOG_ENTRY} from activity a where leaf_index is null order by entry_id limit ? for no key update`,
    [limit],
  )
  return rows
}

export interface Leaf {
  entryId: number
  leafIndex: number
  salt: Buffer
  detailHash: Buffer
}

export async function giveLeaves(transaction: Queryable, leaves: readonly Leaf[]): Promise<void> {
  await transaction.raw(
    `update activity a set leaf_index = l.leaf_index, salt = l.salt, detail_hash = l.detail_hash
     from unnest(?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[]) as l (entry_id, leaf_index, salt, detail_hash)
     where a.entry_id = l.entry_id`,
    [
      leaves.map(({ entryId }) => entryId),
      leaves.map(({ leafIndex }) => leafIndex),
      leaves.map(({ salt }) => salt),
      leaves.map(({ detailHash }) => detailHash),
    ] as never,
  )
}

/** An entry with everything that its hash was made from. Salts are null in an erased entry. */
export interface LoggedEntry extends LogEntry {
  leafIndex: number
  operator: string | null
  salt: Buffer | null
  detailHash: Buffer
  operatorSalt: Buffer | null
}

const LOGGED_ENTRY = `${LOG_ENTRY}, a.leaf_index as "leafIndex", a.operator, a.salt, a.detail_hash as "detailHash",
  a.operator_salt as "operatorSalt"`

/** The entries at these places of the log, `to` exclusive, at most 5,000. Needs the rights of `integration_operator`. */
export async function listLoggedEntries(
  db: Queryable,
  { from, to }: { from: number; to: number },
): Promise<LoggedEntry[]> {
  const { rows } = await db.raw(
    `select ${LOGGED_ENTRY} from activity a where leaf_index >= ? and leaf_index < ? order by leaf_index limit 5000`,
    [from, to],
  )
  return rows
}

/**
 * The entries whose detail is erased although no entry says that their subject or company was, at most 5,000. Needs the
 * rights of `integration_operator`.
 */
export async function listUnexplainedErasures(db: Queryable): Promise<LoggedEntry[]> {
  const { rows } = await db.raw(
    `select ${LOGGED_ENTRY} from activity a where leaf_index is not null and salt is null and detail = '{}'
       and not exists (select from activity e where e.subject = a.subject
                       and e.action = 'person.erased' and e.operator is not null)
       and not exists (select from activity e where e.subject = a.vendor_id
                       and e.action = 'company.erased' and e.operator is not null)
     order by leaf_index limit 5000`,
  )
  return rows
}

/** Where the log has the first entry from this time on; undefined if it has none. */
export async function firstLeafSince(db: Queryable, since: Date): Promise<number | undefined> {
  const { rows } = await db.raw('select min(leaf_index) as first from activity where at >= ?', [since])
  return rows[0].first ?? undefined
}

/** Returns how many entries have had no place in the log for a minute. */
export async function countWithoutLeaf(db: Queryable): Promise<number> {
  const { rows } = await db.raw(
    `select count(*) as waiting from activity where leaf_index is null and at < now() - interval '1 minute'`,
  )
  return rows[0].waiting
}
