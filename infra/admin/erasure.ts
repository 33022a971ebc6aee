import { setTimeout as sleep } from 'node:timers/promises'
import { type Operator, record } from '#shared/accounts/activity.ts'
import { unusableHash } from '#shared/accounts/passwords.ts'
import { endAccountWithoutCompany, lockMembers } from '#shared/accounts/people.ts'
import { revokeClient } from '#shared/oauth/client-changes.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { OperatorError } from './operator.ts'
import { activitySteps, findPerson, type Person, ROWS_A_STEP } from './person-records.ts'

/** Longer than a request that the API has begun can still write. */
const IN_FLIGHT_MS = 15_000
/** Of a table that has no index to find a company's rows by: about 10,000 rows. */
const BLOCKS_A_STEP = 100
const REVOKED_AT_ONCE = 10

/** Called with a sentence for people, while the work goes on. */
export type Progress = (sentence: string) => void

/**
 * Erases what is stored about a person. Access ends at once, with the entries `person.erased`; the names in the activity
 * follow step by step. An interrupted run is finished by the next erasure of anyone.
 * @param given as for `findPerson`.
 * @throws OperatorError if nothing is stored, or the person owns a company.
 */
export async function erasePerson(
  db: Database,
  { given, by }: { given: string; by: Operator },
): Promise<{ userIds: string[]; entries: number }> {
  const person = await findPerson(db, given)
  await db.transaction(async (transaction) => {
    const memberships = await holdMemberships(transaction, person)
    const known = [
      ...memberships,
      ...person.invitations,
      ...person.entries.map(({ subject, vendorId }) => ({ userId: subject, vendorId })),
    ]
    for (const userId of person.ids) {
      const about = known.filter((one) => one.userId === userId)
      const vendorIds = new Set(about.map(({ vendorId }) => vendorId))
      await erase(transaction, { userId, vendorIds: [...vendorIds], by })
    }
  })
  return { userIds: person.ids, entries: await eraseFromActivity(db) }
}

/** Holds the people of all companies of the person. @throws OperatorError if the person owns one. */
async function holdMemberships(
  transaction: Queryable,
  { ids }: Person,
): Promise<{ userId: string; vendorId: string }[]> {
  const read = async (): Promise<{ userId: string; vendorId: string; role: string }[]> => {
    const { rows } = await transaction.raw(
      `select user_id as "userId", vendor_id as "vendorId", role from memberships where user_id = any(?)
       order by vendor_id`,
      [ids] as never,
    )
    return rows
  }
  for (const { vendorId } of await read()) await lockMembers(transaction, vendorId)
  const memberships = await read()
  const owned = memberships.filter(({ role }) => role === 'owner').map(({ vendorId }) => vendorId)
  if (owned.length === 0) return memberships
  throw new OperatorError(
    `This person owns ${owned.join(', ')}. First hand over (member set-role ${owned[0]} <email> owner), or erase the company.`,
  )
}

async function erase(
  transaction: Queryable,
  { userId, vendorIds, by }: { userId: string; vendorIds: (string | null)[]; by: Operator },
): Promise<void> {
  for (const vendorId of vendorIds.length > 0 ? vendorIds : [null])
    await record(transaction, { vendorId, by }, 'person.erased', userId)
  await transaction.raw('select erase_person(?, ?)', [userId, unusableHash()])
}

/**
 * Removes the names of everyone and everything erased from the activity. Returns the number of entries that had any.
 * What remains, and why, is in 0006_erasure.sql.
 */
async function eraseFromActivity(db: Queryable): Promise<number> {
  let total = 0
  for (let after = 0; ; ) {
    const step = [after, ROWS_A_STEP]
    const { rows } = await db.raw('select last_entry as last, erased from erase_from_activity(?, ?)', step)
    total += rows[0].erased
    if (rows[0].last === null) return total
    after = rows[0].last
  }
}

export interface CompanyToErase {
  name: string
  people: number
  /** Active ones. */
  clients: number
}

/** @throws OperatorError if there never was such a company. */
export async function findCompanyToErase(db: Queryable, vendorId: string): Promise<CompanyToErase> {
  const { rows } = await db.raw(
    `select name, (select count(*) from memberships m where m.vendor_id = o.vendor_id) as people,
       (select count(*) from oauth_clients c where c.vendor_id = o.vendor_id and status = 'Active') as clients
     from companies o where vendor_id = ?`,
    [vendorId],
  )
  if (!rows[0]) throw new OperatorError(`There is no company ${vendorId}.`)
  return rows[0]
}

/**
 * Erases a company with all its data. No one is a member any more once it has begun; then each client is revoked, with the
 * promise of a revocation; then the data goes, a few rows at a time. It can be repeated, and must be if it was interrupted. Returns how many clients were Active, and how many people and rows were
 * erased.
 * @param options.forget deletes what Redis has of the company and these clients. Must not reject.
 */
export async function eraseCompany(
  { db, revocation }: { db: Database; revocation: Revocation },
  {
    vendorId,
    by,
    progress,
    forget,
    inFlight_ms = IN_FLIGHT_MS,
  }: {
    vendorId: string
    by: Operator
    progress: Progress
    forget: (clientIds: string[]) => Promise<void>
    inFlight_ms?: number
  },
): Promise<{ clients: number; people: number; rows: number }> {
  const known = await peopleOf(db, vendorId)
  const elsewhere = await knownElsewhere(db, vendorId, known)
  const people = await beginErasure(db, { vendorId, elsewhere, by })
  progress('No one is a member any more.')
  const clients = await revokeAll({ db, revocation }, { vendorId, by })
  progress(`${clients} clients were Active, and are revoked everywhere. Waiting for requests under way.`)
  await sleep(Math.max(0, inFlight_ms - (await sinceAccess_ms(db, vendorId))))
  const { rows } = await db.raw('select client_id as "clientId" from oauth_clients where vendor_id = ?', [
    vendorId,
  ])
  await forget(rows.map(({ clientId }: { clientId: string }) => clientId))
  const former = await erasePeople(db, { vendorId, userIds: known, elsewhere, by })
  let erased = 0
  for await (const { table, rows } of eraseTables(db, vendorId)) {
    erased += rows
    if (rows > 0) progress(`${table}: ${rows} rows`)
  }
  return { clients, people: people + former, rows: erased }
}

/** Erases the company's rows, with a transaction for each step, and yields each table once it has none left. */
async function* eraseTables(db: Database, vendorId: string): AsyncGenerator<{ table: string; rows: number }> {
  const { rows: tables } = await db.raw('select relation as "table" from company_tables()')
  // Again, until no table has got a row meanwhile.
  for (let pass = 1; pass > 0; ) {
    pass = 0
    for (const { table } of tables) {
      const rows = await eraseRows(db, vendorId, table)
      pass += rows
      yield { table, rows }
    }
  }
  const { rows: partitions } = await db.raw(
    `select relname as "table", pg_relation_size(c.oid) / current_setting('block_size')::bigint as blocks
     from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'analytics_events'::regclass order by 1`,
  )
  for (const { table, blocks } of partitions)
    yield { table, rows: await eraseEvents(db, vendorId, { table, blocks }) }
  yield { table: 'activity', rows: await eraseFromActivity(db) }
}

async function eraseRows(db: Queryable, vendorId: string, table: string): Promise<number> {
  for (let total = 0; ; ) {
    const step = [vendorId, table, ROWS_A_STEP]
    const { rows } = await db.raw('select erase_company_rows(?, ?, ?) as erased', step)
    if (rows[0].erased === 0) return total
    total += rows[0].erased
  }
}

async function eraseEvents(
  db: Queryable,
  vendorId: string,
  { table, blocks }: { table: string; blocks: number },
): Promise<number> {
  let total = 0
  for (let block = 0; block < blocks; block += BLOCKS_A_STEP) {
    const step = [vendorId, table, block, BLOCKS_A_STEP]
    const { rows } = await db.raw('select erase_analytics_events(?, ?, ?, ?) as erased', step)
    total += rows[0].erased
  }
  return total
}

/** Its members, and those who left and still have a name. */
async function peopleOf(db: Queryable, vendorId: string): Promise<string[]> {
  const { rows } = await db.raw(
    `select user_id as "userId" from memberships where vendor_id = ?
     union select subject from activity a join users u on u.user_id = subject
     where a.vendor_id = ? and u.name <> 'Erased person'`,
    [vendorId, vendorId],
  )
  return rows.map(({ userId }: { userId: string }) => userId)
}

/** Those of the people whom the activity of another company names, which must still say who did what there. */
async function knownElsewhere(db: Queryable, vendorId: string, userIds: string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const step of activitySteps(db)) {
    const { rows } = await db.raw(
      `select distinct id from activity a join companies c using (vendor_id),
         unnest(array[a.user_id, a.subject]) as id
       where entry_id > ? and entry_id <= ? and c.erased_at is null and c.vendor_id <> ? and id = any(?)`,
      [...step, vendorId, userIds] as never,
    )
    for (const { id } of rows) found.add(id)
  }
  return found
}

/** Returns how many of its people were erased. */
function beginErasure(
  db: Database,
  { vendorId, elsewhere, by }: { vendorId: string; elsewhere: Set<string>; by: Operator },
): Promise<number> {
  return db.transaction(async (transaction) => {
    await lockMembers(transaction, vendorId)
    await record(transaction, { vendorId, by }, 'company.erased', vendorId)
    const { rows } = await transaction.raw('select erase_company(?) as "userId"', [vendorId])
    const userIds = rows.map(({ userId }: { userId: string }) => userId)
    return erasePeople(transaction, { vendorId, userIds, elsewhere, by })
  })
}

/** Erases those who are in no company any more. The account of one known elsewhere only ends. Returns how many. */
async function erasePeople(
  db: Queryable,
  {
    vendorId,
    userIds,
    elsewhere,
    by,
  }: { vendorId: string; userIds: string[]; elsewhere: Set<string>; by: Operator },
): Promise<number> {
  const { rows } = await db.raw(
    `select user_id as "userId" from users u where user_id = any(?) and name <> 'Erased person'
       and not exists (select from memberships m where m.user_id = u.user_id)`,
    [userIds] as never,
  )
  for (const { userId } of rows)
    await db.transaction(async (transaction) => {
      if (elsewhere.has(userId)) await endAccountWithoutCompany(transaction, userId)
      else await erase(transaction, { userId, vendorIds: [vendorId], by })
    })
  return rows.filter(({ userId }: { userId: string }) => !elsewhere.has(userId)).length
}

/** Returns how many clients were Active. When it resolves, none is, and no process accepts one or a token of one. */
async function revokeAll(
  { db, revocation }: { db: Database; revocation: Revocation },
  { vendorId, by }: { vendorId: string; by: Operator },
): Promise<number> {
  for (let revoked = 0; ; ) {
    const { rows } = await db.raw(
      `select client_id as "clientId" from oauth_clients where vendor_id = ? and status = 'Active' limit ?`,
      [vendorId, REVOKED_AT_ONCE],
    )
    if (rows.length === 0) return revoked
    await Promise.all(
      rows.map(({ clientId }: { clientId: string }) =>
        revokeClient(revocation, { vendorId, clientId, revokedBy: by }),
      ),
    )
    revoked += rows.length
  }
}

/** Returns how long ago the last member or client lost access, in milliseconds. */
async function sinceAccess_ms(db: Queryable, vendorId: string): Promise<number> {
  const { rows } = await db.raw(
    `select (extract(epoch from clock_timestamp() - greatest(erased_at, (
       select max(revoked_at) from oauth_clients c where c.vendor_id = o.vendor_id))) * 1000)::bigint as since_ms
     from companies o where vendor_id = ?`,
    [vendorId],
  )
  return rows[0].since_ms
}
