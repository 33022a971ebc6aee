import type { Knex } from 'knex'
import { bindings, type Queryable } from '#shared/stores/postgres.ts'

/* The table of activity: what people, operators and the service did, appended and never changed. */

export const ACTIVITY_ACTIONS = [
  'client.created',
  'client.renamed',
  'client.revoked',
  'client.secret_found',
  'workload_issuer.keys_replaced',
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

/** Operators' actions on the service as a whole. No company sees these entries. */
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

/** A person who uses the admin command. */
export interface OperatorActor {
  name: string
}

/** The id of a user, or an operator. */
export type Actor = string | OperatorActor

/** `vendorId` is null for the service as a whole, and for an account that belongs to no company. */
type Author =
  /** `by` is null for what the service did on its own. */
  { vendorId: string; by: Actor | null } | { vendorId: string | null; by: OperatorActor }

/**
 * Appends an entry to the activity. Call it in the transaction of the change that it records. Once that is
 * committed, the entry goes to the `activityLog` of the database too.
 * @param subject the id of a client, person, company, key or service, the host of a callback, or `database`.
 */
export async function recordActivity(
  db: Queryable,
  { vendorId, by }: Author,
  action: ActivityAction | ServiceAction,
  subject: string,
  detail: Record<string, unknown> = {},
): Promise<void> {
  const [userId, operator] = typeof by === 'string' || by === null ? [by, null] : [null, by.name]
  // Each role may write one of the columns.
  const [column, author] = operator === null ? ['user_id', userId] : ['operator', operator]
  const { rows } = await db.raw(
    `insert into activity as a (vendor_id, ${column}, action, subject, detail) values (?, ?, ?, ?, ?)
     returning a.entry_id as "entryId", ${AT} as at`,
    [vendorId, author, action, subject, JSON.stringify(detail)] as string[],
  )
  const entry = { ...rows[0], vendorId, userId, operator, action, subject, detail }
  logOnceCommitted(db, loggedEntry(entry))
}

/**
 * Records `address.claimed` unless the company has such an entry about this user. It has no author, since
 * no one of the company did it. Returns whether it was recorded.
 */
export async function recordAddressClaim(
  transaction: Queryable,
  { vendorId, userId, detail }: { vendorId: string; userId: string; detail: Record<string, unknown> },
): Promise<boolean> {
  const action: ActivityAction = 'address.claimed'
  const { rows } = await transaction.raw(
    'select from activity where vendor_id = ? and subject = ? and action = ? limit 1',
    [vendorId, userId, action],
  )
  if (rows.length > 0) return false
  await recordActivity(transaction, { vendorId, by: null }, action, userId, detail)
  return true
}

/** Returns whether the address was removed and has not joined again. An invitation alone changes nothing. */
export async function wasRemoved(
  db: Queryable,
  { vendorId, email }: { vendorId: string; email: string },
): Promise<boolean> {
  const { rows } = await db.raw(
    `with theirs as materialized (
       select entry_id, action from activity where vendor_id = ? and detail->>'email' = ?
         and action in ('person.removed', 'person.added', 'person.joined'))
     select action from theirs order by entry_id desc limit 1`,
    [vendorId, email],
  )
  return rows[0]?.action === 'person.removed'
}

/** RFC 3339 in milliseconds. null: a time that it cannot express, which only the tables' owner can set. */
const AT = `case when a.at >= '0001-01-01Z' and a.at < '10000-01-01Z'
  then to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end`

/** In microseconds, as Postgres has it. */
const POSITION = `to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

export interface ActivityRecord {
  entryId: number
  at: string
  action: ActivityAction
  subject: string
  detail: Record<string, unknown>
  /** null: an operator, or the service. */
  userId: string | null
  userName: string | null
}

export interface ActivityFilter {
  /** null: what operators and the service did. */
  userId?: string | null | undefined
  action?: ActivityAction | undefined
  subject?: string | undefined
  /** From this time on. */
  from?: Date | undefined
  /** Before this time. */
  to?: Date | undefined
}

/** The place of an entry in the list: its time, to the microsecond, and its id. */
export type ActivityPosition = [at: string, entryId: number]

const LOOKED_AT_MAX = 5_000

/** Each column has an index of company, column and time. The first of the list is the most selective. */
function listConditions({ subject, userId, action }: ActivityFilter): [column: string, value: string][] {
  const conditions: [string, string][] = []
  if (subject !== undefined) conditions.push(['a.subject', subject])
  if (userId !== undefined) conditions.push([`coalesce(a.user_id, '')`, userId ?? ''])
  if (action !== undefined) conditions.push(['a.action', action])
  return conditions
}

/**
 * Lists entries of one company, newest first, after the position `after`. A statement looks at 5,000 entries
 * at most, so there may be more although fewer than `limit` are returned. `next` is null if there are none.
 */
export async function listActivity(
  db: Queryable,
  query: ActivityFilter & { vendorId: string; after?: ActivityPosition | undefined; limit: number },
): Promise<{ records: ActivityRecord[]; next: ActivityPosition | null }> {
  const { vendorId, after, limit, from, to, ...filter } = query
  const [[column, value] = ['a.vendor_id', vendorId], ...others] = listConditions(filter)
  const end = to && !(after && new Date(after[0]) < to) ? [to, 0] : (after ?? ['infinity', 0])
  // Comparing and ordering by the column leaves Postgres only its index. With another, it might walk through
  // any number of entries that do not match.
  const order = `order by ${column} desc, a.at desc, a.entry_id desc`
  const candidates = `
    select a.vendor_id, a.entry_id, a.at, a.action, a.subject, a.detail, a.user_id from activity a
    where a.vendor_id = ? and (${column}, a.at, a.entry_id) < (?, ?::timestamptz, ?::bigint)
      and (${column}, a.at) >= (?, ?::timestamptz)
    ${order} limit ${others.length > 0 ? LOOKED_AT_MAX : limit + 1}`
  const values = [vendorId, value, ...end, value, from ?? '-infinity'] as string[]
  const { rows } = await db.raw(
    `select a.entry_id as "entryId", ${AT} as at, ${POSITION} as position, a.action, a.subject, a.detail,
       a.user_id as "userId", (select u.name from users u where u.user_id = a.user_id) as "userName"
     from (${candidates}) a where ${['true', ...others.map(([name]) => `${name} = ?`)].join(' and ')} ${order} limit ?`,
    [...values, ...others.map(([, value]) => value), limit + 1],
  )
  const records = rows.slice(0, limit)
  if (rows.length > limit) return { records, next: entryPosition(records.at(-1)) }
  if (others.length === 0) return { records, next: null }
  const last = await db.raw(
    `select a.entry_id as "entryId", ${POSITION} as position from (${candidates}) a ${order} limit 1 offset ?`,
    [...values, LOOKED_AT_MAX - 1],
  )
  return { records, next: entryPosition(last.rows[0]) }
}

const entryPosition = (row: { position: string; entryId: number } | undefined): ActivityPosition | null =>
  row ? [row.position, row.entryId] : null

/** An entry of any company, or of the service as a whole. */
export type ExportedEntry = Omit<ActivityRecord, 'userName' | 'action'> & {
  action: ActivityAction | ServiceAction
  vendorId: string | null
  operator: string | null
}

/** An entry as a line of the log. Members without a value are left out. */
export type LoggedEntry = Pick<ExportedEntry, 'entryId' | 'at' | 'action' | 'subject' | 'detail'> &
  Partial<Record<'vendorId' | 'userId' | 'operator', string>>

const FREE_TEXT = new Set(['name', 'email', 'source', 'file'])

/** Returns the loggable members of an entry: none that names a person or contains a stranger's text. */
export function loggedEntry(from: ExportedEntry | LoggedEntry): LoggedEntry {
  const { entryId, at, vendorId, userId, operator, action, subject, detail } = from
  const entry = { entryId, at, vendorId, userId, operator, action, subject, detail }
  return JSON.parse(
    JSON.stringify(entry, (member, value) => (value === null || FREE_TEXT.has(member) ? undefined : value)),
  )
}

/** Logs an entry after the outermost transaction of `db` is committed; never if one is rolled back. */
function logOnceCommitted(db: Queryable, entry: LoggedEntry): void {
  // A savepoint inherits no parameters of its database.
  const { executionPromise, parentTransaction, userParams } = db as Knex.Transaction
  const proceed = () =>
    parentTransaction ? logOnceCommitted(parentTransaction, entry) : userParams.activityLog?.(entry)
  if (db.isTransaction) executionPromise.then(proceed, () => {})
  else proceed()
}

/** Returns entries by id, or those after one, oldest first. Needs the role `integration_operator`. */
export async function listEntries(
  db: Queryable,
  range: { after?: number | null; since?: Date | null; ids?: number[] | null; limit: number },
): Promise<ExportedEntry[]> {
  const { after = null, since = null, ids = null, limit } = range
  const { rows } = await db.raw(
    `select a.entry_id as "entryId", ${AT} as at, a.vendor_id as "vendorId", a.user_id as "userId", a.operator, a.action,
       a.subject, a.detail
     from public.activity a
     where (?::bigint is null or a.entry_id > ?) and (?::timestamptz is null or a.at >= ?)
       and (?::bigint[] is null or a.entry_id = any(?::bigint[]))
     order by a.entry_id limit ?`,
    bindings([after, after, since, since, ids, ids, limit]),
  )
  return rows
}

/** Returns an entry id beyond 2^53, or undefined. Only the owner of the tables can set one. */
export async function findUnreadableEntryId(db: Queryable): Promise<string | undefined> {
  const { rows } = await db.raw(
    'select entry_id::text as id from public.activity where entry_id < ? or entry_id > ? limit 1',
    [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  )
  return rows[0]?.id
}

/** Returns the user id of a person; null for an operator or the service. */
export const actorUserId = (actor: Actor | null): string | null => (typeof actor === 'string' ? actor : null)
