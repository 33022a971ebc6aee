import { setTimeout as sleep } from 'node:timers/promises'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { bindings, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { type Operator, record } from '../../apps/api/accounts/activity.ts'
import { endAccountWithoutCompany, lockMembers } from '../../apps/api/accounts/people.ts'
import { revokeClient } from '../../apps/api/clients/revoke-client.ts'
import { forgetRefusals } from '../../apps/api/usage/refusals.ts'
import { announce, heartbeat, linesTo, type Show } from '../progress.ts'
import type { OperatorCommand, OperatorContext } from './commands.ts'
import { OperatorError } from './operator.ts'
import { activitySteps, ROWS_A_STEP } from './person-records.ts'
import { eraseAccount, eraseFromActivity } from './persons.ts'

/** Longer than a request that the API has begun can still write. */
const IN_FLIGHT_MS = 15_000
/** Blocks of a table without an index for a company's rows: about 10,000 rows. */
const BLOCKS_A_STEP = 100
/** A busy Postgres may take longer than a revocation may. To repeat one is safe. */
const REVOCATION_TRIES = 5
const REDIS_WAIT_MS = 5_000

/** The runbook's page on privacy says what stays. */
export const COMPANY_ERASE: OperatorCommand = {
  name: 'erase',
  doing: null,
  description:
    'Erase a company with all its data, permanently. Its clients are revoked first. Repeat it if it was interrupted.',
  example: 'company erase ven_acme',
  args: ['vendor_id'],
  ifInterrupted:
    'What was revoked or erased stays so. Until it said that no one is a member any more, everyone still is. Run the command again to finish.',
  async effect({ db }, { vendorId }: { vendorId: string }) {
    const { name, people, clients } = await findCompany(db, vendorId)
    return `${vendorId} (${name}) will be erased permanently, with all its data: ${people} people lose access, and ${clients} Active clients are revoked.`
  },
  async run(context, { vendorId }: { vendorId: string }) {
    await findCompany(context.db, vendorId)
    const erased = await eraseCompany(context, vendorId)
    const { clients, people, rows } = erased
    return {
      text: `${vendorId} is erased: ${people} people, ${clients} Active clients, ${rows} rows.`,
      data: { vendorId, ...erased },
    }
  },
}

/** Finds an erased company too. @throws OperatorError if there never was such a company. */
async function findCompany(
  db: Queryable,
  vendorId: string,
): Promise<{ name: string; people: number; clients: number }> {
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
 * promise of a revocation; then the data goes, a few rows at a time. It can be repeated, and must be if it was
 * interrupted. Returns how many clients were Active, and how many people and rows were erased.
 */
async function eraseCompany(
  context: OperatorContext,
  vendorId: string,
): Promise<{ clients: number; people: number; rows: number }> {
  const { db, by } = context
  const show = linesTo(context.stderr)
  // Without Redis nothing can be revoked, so nothing begins.
  const revocation = context.revocation()
  const known = await peopleOf(db, vendorId)
  const searching = knownElsewhere(db, vendorId, known)
  const elsewhere = await heartbeat(show, () => 'Looking for its people in other companies', searching)
  const erasePeople = (queryable: Queryable, userIds: string[]) =>
    erasePeopleWithoutCompany(queryable, userIds, (transaction, userId) =>
      elsewhere.has(userId)
        ? endAccountWithoutCompany(transaction, userId)
        : eraseAccount(transaction, { userId, vendorIds: [vendorId], by }),
    )
  const members = await db.transaction(async (transaction) => {
    await lockMembers(transaction, vendorId)
    await record(transaction, { vendorId, by }, 'company.erased', vendorId)
    const { rows } = await transaction.raw('select array(select erase_company(?)) as members', [vendorId])
    return erasePeople(transaction, rows[0].members)
  })
  show('No one is a member any more.')
  const { all, active } = await clientsOf(db, vendorId)
  await revokeClients(revocation, { vendorId, clientIds: active, by, show })
  show(`${active.length} clients were Active, and are revoked everywhere.`)
  await announce(show, `Waiting ${IN_FLIGHT_MS / 1_000} s for requests under way`, sleep(IN_FLIGHT_MS))
  const forgetting = forgetInRedis(context, { vendorId, clientIds: all })
  await heartbeat(show, () => 'Erasing requests in Redis', forgetting).catch((error: Error) =>
    show(`Requests stay in Redis until they expire, within 14 days: ${error.message}`),
  )
  const left = await heartbeat(show, () => 'Erasing people', erasePeople(db, known))
  const erased = [...members, ...left].filter((userId) => !elsewhere.has(userId))
  const rows = await heartbeat(show, () => 'Erasing rows', eraseTables(db, vendorId, show))
  return { clients: active.length, people: erased.length, rows }
}

/**
 * Revokes the clients, with the promise of a revocation for each. They are committed one after the other, each with the
 * whole time that a revocation has; only what each then waits for Redis overlaps.
 * @throws OperatorError, after all have been tried, if some were not revoked.
 */
async function revokeClients(
  revocation: Revocation,
  { vendorId, clientIds, by, show }: { vendorId: string; clientIds: string[]; by: Operator; show: Show },
): Promise<void> {
  let revoked = 0
  async function revoke(clientId: string, onCommit: () => void): Promise<void> {
    try {
      await tried(() => revokeClient(revocation, { vendorId, clientId, revokedBy: by, onCommit }))
      revoked += 1
    } catch (error) {
      show(`${clientId} could not be revoked: ${(error as Error).message}`)
    }
  }
  async function revokeAll(): Promise<void> {
    const revocations: Promise<void>[] = []
    for (const clientId of clientIds) {
      const { promise: committed, resolve: onCommit } = Promise.withResolvers<void>()
      const revoking = revoke(clientId, onCommit)
      revocations.push(revoking)
      await Promise.race([committed, revoking])
    }
    await Promise.all(revocations)
  }
  await heartbeat(show, () => `${revoked} of ${clientIds.length} clients are revoked`, revokeAll())
  if (revoked < clientIds.length)
    throw new OperatorError(
      `${clientIds.length - revoked} of ${clientIds.length} clients could not be revoked, so no data was erased: run the command again.`,
    )
}

const tried = (act: () => Promise<unknown>, left = REVOCATION_TRIES): Promise<unknown> =>
  act().catch((error) => (left > 1 ? tried(act, left - 1) : Promise.reject(error)))

/** Its members, and those who left and still have a name. */
async function peopleOf(db: Queryable, vendorId: string): Promise<string[]> {
  const { rows } = await db.raw(
    `select array(select user_id from memberships where vendor_id = ?
       union select subject from activity a join users u on u.user_id = subject
       where a.vendor_id = ? and u.name <> 'Erased person') as people`,
    [vendorId, vendorId],
  )
  return rows[0].people
}

/** Returns the ids of all its clients, which get no more, and of the Active ones. */
async function clientsOf(db: Queryable, vendorId: string): Promise<{ all: string[]; active: string[] }> {
  const { rows } = await db.raw(
    `select coalesce(array_agg(client_id), '{}') as "all",
       coalesce(array_agg(client_id) filter (where status = 'Active'), '{}') as active
     from oauth_clients where vendor_id = ?`,
    [vendorId],
  )
  return rows[0]
}

/** Those of the people whom the activity of another company names, which must still say who did what there. */
async function knownElsewhere(db: Queryable, vendorId: string, userIds: string[]): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const step of activitySteps(db)) {
    const { rows } = await db.raw(
      `select distinct id from activity a join companies c using (vendor_id),
         unnest(array[a.user_id, a.subject]) as id
       where entry_id > ? and entry_id <= ? and c.erased_at is null and c.vendor_id <> ? and id = any(?)`,
      bindings([...step, vendorId, userIds]),
    )
    for (const { id } of rows) found.add(id)
  }
  return found
}

/** Erases those who are in no company any more, and returns their ids. */
async function erasePeopleWithoutCompany(
  db: Queryable,
  userIds: string[],
  erase: (transaction: Queryable, userId: string) => Promise<unknown>,
): Promise<string[]> {
  const { rows } = await db.raw(
    `select array(select user_id from users u where user_id = any(?) and name <> 'Erased person'
       and not exists (select from memberships m where m.user_id = u.user_id)) as people`,
    bindings([userIds]),
  )
  const people: string[] = rows[0].people
  for (const userId of people) await db.transaction((transaction) => erase(transaction, userId))
  return people
}

/** Rejects if Redis is absent. Requests expire within two weeks, so that stops nothing. */
async function forgetInRedis(
  context: OperatorContext,
  company: { vendorId: string; clientIds: string[] },
): Promise<void> {
  const redis = context.usageRedis()
  await redisReady(redis, REDIS_WAIT_MS)
  await forgetRefusals(redis, company)
}

/** Erases the company's rows, with a transaction for each step, and shows each table. Returns how many there were. */
async function eraseTables(db: Database, vendorId: string, show: Show): Promise<number> {
  let total = 0
  const erased = (table: string, rows: number) => {
    total += rows
    if (rows > 0) show(`${table}: ${rows} rows`)
  }
  const { rows: tables } = await db.raw('select relation as "table" from company_tables()')
  // Again, until no table has got a row meanwhile.
  for (let pass = 1; pass > 0; ) {
    pass = 0
    for (const { table } of tables) {
      const rows = await eraseRows(db, vendorId, table)
      pass += rows
      erased(table, rows)
    }
  }
  const { rows: partitions } = await db.raw(
    `select relname as "table", pg_relation_size(c.oid) / current_setting('block_size')::bigint as blocks
     from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'analytics_events'::regclass order by 1`,
  )
  for (const { table, blocks } of partitions)
    erased(table, await eraseEvents(db, vendorId, { table, blocks }))
  erased('activity', await eraseFromActivity(db))
  return total
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
