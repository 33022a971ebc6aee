import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { bindings, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { newVendorId } from '../../apps/api/accounts/new-ids.ts'
import {
  type CompanyRecord,
  findCompany,
  insertCompany,
  listCompanies,
  lockMembers,
  type Member,
} from '../../apps/api/accounts/people.ts'
import { timezoneName } from '../../apps/api/analytics/calendar.ts'
import { revokeClient } from '../../apps/api/clients/revoke-client.ts'
import { addPerson } from '../../apps/api/people/invite-person.ts'
import { endAccountWithoutCompany } from '../../apps/api/people/remove-person.ts'
import { sqlState, UNIQUE_VIOLATION } from '../../apps/api/stores/postgres-errors.ts'
import { deleteRequests } from '../../apps/api/usage/refusals.ts'
import { announce, heartbeat, linesTo, type ShowProgress } from '../progress.ts'
import { type CommandGroup, countText, formatTable, type OperatorContext, required } from './commands.ts'
import {
  ACCOUNT_OPTIONS,
  type AccountChoice,
  type NewPerson,
  parseName,
  parseNewPerson,
  preparePerson,
} from './new-person.ts'
import { OperatorError } from './operator.ts'
import { activitySteps, eraseAccount, eraseFromActivity } from './persons.ts'

/** A request that the API has begun may still write for a while, but for less than this. */
const IN_FLIGHT_MS = 15_000
/** Rows of a table that one transaction erases. */
const ROWS_PER_BATCH = 100_000
/** A busy Postgres may take longer than a revocation may. To repeat one is safe. */
const REVOCATION_TRIES = 5
const REDIS_WAIT_MS = 5_000

const TITLES = { vendorId: 'VENDOR ID', name: 'NAME', timezone: 'TIME ZONE', currency: 'CURRENCY' }

type NewCompanyOptions = AccountChoice & {
  name: string
  timezone: string
  currency: string
  ownerEmail: string
  ownerName?: string
  vendorId?: string
}

export const COMPANIES: CommandGroup = {
  name: 'company',
  plural: 'companies',
  description: 'Companies',
  commands: [
    {
      name: 'create',
      description:
        'Create a company with its owner. For a new account you are prompted for the password, or it is ' +
        'read from standard input.',
      example:
        'company create --name "Initech" --timezone America/Chicago --currency USD --owner-email ' +
        'bill@initech.example --owner-name "Bill L."',
      options: [
        required('--name <name>', 'name of the company'),
        required('--timezone <zone>', 'IANA time zone for its daily figures'),
        required('--currency <code>', 'ISO 4217 currency of its figures'),
        required('--owner-email <email>', 'email address that the owner signs in with'),
        new Option('--owner-name <name>', 'name of the owner, for a new account'),
        ...ACCOUNT_OPTIONS,
        new Option('--vendor-id <id>', 'identifier of the company (default: a random one)'),
      ],
      async run(
        context,
        { ownerEmail, ownerName, vendorId, name, timezone, currency, ...choice }: NewCompanyOptions,
      ) {
        const owner = parseNewPerson(context, { email: ownerEmail, name: ownerName, ...choice })
        const company = { vendorId, name, timezone, currency, owner, by: context.by }
        const data = await createCompany(context.db, company)
        return { text: `Created ${data.company.vendorId}, owned by ${data.owner.email}.`, data }
      },
    },
    {
      name: 'list',
      description: 'List the companies',
      example: 'company list',
      async run({ db }) {
        const companies = await listCompanies(db)
        return { text: formatTable(companies, TITLES, 'There are no companies yet.'), data: companies }
      },
    },
    // The runbook's page on privacy says what stays.
    {
      name: 'erase',
      progress: null,
      description:
        'Erase a company with all its data, permanently. Its clients are revoked first. Repeat it if it ' +
        'was interrupted.',
      example: 'company erase ven_acme',
      args: ['vendor_id'],
      ifInterrupted:
        'What was revoked or erased stays so. Everyone is still a member, unless "No one is a member any ' +
        'more." was shown. Run the command again to finish.',
      async effect({ db }, { vendorId }: { vendorId: string }) {
        const { name, people, clients } = await summarize(db, vendorId)
        const losses = `${countText(people, 'person', 'people')} will lose access, and ${countText(clients, 'Active client')} will be revoked.`
        return `${vendorId} (${name}) will be erased permanently, with all its data: ${losses}`
      },
      async run(context, { vendorId }: { vendorId: string }) {
        await summarize(context.db, vendorId)
        const erased = await eraseCompany(context, vendorId)
        const { clients, people, rows } = erased
        return {
          text: `${vendorId} is erased: ${countText(people, 'person', 'people')}, ${countText(clients, 'Active client')}, ${countText(rows, 'row')}.`,
          data: { vendorId, ...erased },
        }
      },
    },
  ],
}

interface NewCompany {
  /** Random if undefined. */
  vendorId: string | undefined
  name: string
  timezone: string
  currency: string
  owner: NewPerson
  by: OperatorActor
}

/** @throws OperatorError if a value is invalid or the vendor id is taken. */
export async function createCompany(
  db: Database,
  { vendorId = newVendorId(), name, timezone, currency, owner, by }: NewCompany,
): Promise<{ company: CompanyRecord; owner: Member }> {
  if (!VENDOR_ID_PATTERN.test(vendorId))
    throw new OperatorError('A vendor id is ven_ followed by 1 to 60 letters and digits, such as ven_acme.')
  const company = {
    vendorId,
    name: parseName(name),
    timezone: parseTimezone(timezone),
    currency: parseCurrency(currency),
  }
  const conflict = new OperatorError(`The company ${vendorId} already exists.`)
  if (await findCompany(db, vendorId)) throw conflict
  const person = await preparePerson(db, owner)
  await db.transaction(async (transaction) => {
    await insertCompany(transaction, company).catch((error) => {
      throw sqlState(error) === UNIQUE_VIOLATION ? conflict : error
    })
    await person.store(transaction)
    await recordActivity(transaction, { vendorId, by }, 'company.created', vendorId, { name: company.name })
    await addPerson(transaction, { vendorId, user: person.user, role: 'owner', by })
  })
  return { company, owner: { ...person.user, role: 'owner', status: 'active' } }
}

/** @throws OperatorError if there is no such company; an erased one is none. */
export async function requireCompany(db: Queryable, vendorId: string): Promise<CompanyRecord> {
  const company = await findCompany(db, vendorId)
  if (!company) throw new OperatorError(`There is no company ${vendorId}.`)
  return company
}

function parseTimezone(timezone: string): string {
  const name = timezoneName(timezone)
  if (name !== undefined) return name
  throw new OperatorError(`${JSON.stringify(timezone)} is not an IANA time zone, such as Europe/Berlin.`)
}

function parseCurrency(currency: string): string {
  const code = currency.toUpperCase()
  if (!Intl.supportedValuesOf('currency').includes(code))
    throw new OperatorError(`${JSON.stringify(currency)} is not an ISO 4217 currency, such as EUR.`)
  return code
}

/** Summarizes a company, even an erased one. @throws OperatorError if there never was such a company. */
async function summarize(
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
 * Erases a company with all its data. It first ends all memberships, then revokes each client at every
 * process, and then erases the data in batches. It can be repeated, and must be if it was interrupted.
 * Returns how many clients were Active, and how many people and rows it erased.
 */
async function eraseCompany(
  context: OperatorContext,
  vendorId: string,
): Promise<{ clients: number; people: number; rows: number }> {
  const { db, batchDb, by } = context
  const show = linesTo(context.stderr)
  // Fails without Redis, before anything has changed.
  const revocation = context.revocation()
  const people = await readPeople(db, vendorId)
  const looking = findElsewhere(db, vendorId, people)
  const elsewhere = await heartbeat(show, () => 'Looking for its people in other companies', looking)
  const erasePeople = (queryable: Queryable, userIds: string[]) =>
    erasePeopleWithoutCompany(queryable, userIds, (transaction, userId) =>
      elsewhere.has(userId)
        ? endAccountWithoutCompany(transaction, userId)
        : eraseAccount(transaction, { userId, vendorIds: [vendorId], by }),
    )
  const members = await db.transaction(async (transaction) => {
    await lockMembers(transaction, vendorId)
    await recordActivity(transaction, { vendorId, by }, 'company.erased', vendorId)
    const { rows } = await transaction.raw('select array(select erase_company(?)) as members', [vendorId])
    return erasePeople(transaction, rows[0].members)
  })
  show('No one is a member any more.')
  const clients = await readClientIds(db, vendorId)
  await revokeClients(revocation, { vendorId, clientIds: clients.active, by, show })
  show(`${countText(clients.active.length, 'Active client')} revoked everywhere.`)
  await announce(show, `Waiting ${IN_FLIGHT_MS / 1_000} s for requests under way`, sleep(IN_FLIGHT_MS))
  const requestErasure = forgetInRedis(context, { vendorId, clientIds: clients.all })
  await heartbeat(show, () => 'Erasing requests in Redis', requestErasure).catch((error: Error) =>
    show(`Requests stay in Redis until they expire, within 14 days: ${error.message}`),
  )
  const formerMembers = await heartbeat(show, () => 'Erasing people', erasePeople(db, people))
  const erased = [...members, ...formerMembers].filter((userId) => !elsewhere.has(userId))
  const rows = await heartbeat(show, () => 'Erasing rows', eraseCompanyRows(batchDb, vendorId, { show }))
  const entries = await heartbeat(show, () => 'Going through the activity', eraseFromActivity(db))
  if (entries > 0) show(`activity: ${countText(entries, 'row')}`)
  return { clients: clients.active.length, people: erased.length, rows: rows + entries }
}

/**
 * Revokes each client at every process. The commits come one after another, each with the whole time that a
 * revocation may take. Only the waits for Redis overlap.
 * @throws OperatorError, after all have been tried, if some were not revoked.
 */
async function revokeClients(
  revocation: Revocation,
  options: { vendorId: string; clientIds: string[]; by: OperatorActor; show: ShowProgress },
): Promise<void> {
  const { vendorId, clientIds, by, show } = options
  let revoked = 0
  async function revoke(clientId: string, onCommit: () => void): Promise<void> {
    try {
      await retry(() => revokeClient(revocation, { vendorId, clientId, revokedBy: by, onCommit }))
      revoked += 1
    } catch (error) {
      show(`${clientId} could not be revoked: ${(error as Error).message}`)
    }
  }
  async function revokeAll(): Promise<void> {
    const revocations: Promise<void>[] = []
    for (const clientId of clientIds) {
      const { promise: committed, resolve: onCommit } = Promise.withResolvers<void>()
      const task = revoke(clientId, onCommit)
      revocations.push(task)
      await Promise.race([committed, task])
    }
    await Promise.all(revocations)
  }
  await heartbeat(show, () => `${revoked} of ${clientIds.length} clients are revoked`, revokeAll())
  if (revoked < clientIds.length)
    throw new OperatorError(
      `${clientIds.length - revoked} of ${clientIds.length} clients could not be revoked, so no data was ` +
        'erased: run the command again.',
    )
}

const retry = (act: () => Promise<unknown>, left = REVOCATION_TRIES): Promise<unknown> =>
  act().catch((error) => (left > 1 ? retry(act, left - 1) : Promise.reject(error)))

/** Returns the members of a company, and those who left and still have a name. */
async function readPeople(db: Queryable, vendorId: string): Promise<string[]> {
  const { rows } = await db.raw(
    `select array(select user_id from memberships where vendor_id = ?
       union select subject from activity a join users u on u.user_id = subject
       where a.vendor_id = ? and (u.email is not null or u.name <> 'Erased person')) as people`,
    [vendorId, vendorId],
  )
  return rows[0].people
}

/** Returns the ids of all clients of an erased company, which cannot get more, and of the Active ones. */
async function readClientIds(db: Queryable, vendorId: string): Promise<{ all: string[]; active: string[] }> {
  const { rows } = await db.raw(
    `select coalesce(array_agg(client_id), '{}') as "all",
       coalesce(array_agg(client_id) filter (where status = 'Active'), '{}') as active
     from oauth_clients where vendor_id = ?`,
    [vendorId],
  )
  return rows[0]
}

/** Returns the people whom the activity of another company names, since it must still say who did what. */
async function findElsewhere(db: Queryable, vendorId: string, userIds: string[]): Promise<Set<string>> {
  const people = new Set<string>()
  for await (const step of activitySteps(db)) {
    const { rows } = await db.raw(
      `select distinct id from activity a join companies c using (vendor_id),
         unnest(array[a.user_id, a.subject]) as id
       where entry_id > ? and entry_id <= ? and c.erased_at is null and c.vendor_id <> ? and id = any(?)`,
      bindings([...step, vendorId, userIds]),
    )
    for (const { id } of rows) people.add(id)
  }
  return people
}

/** Erases those who are in no company any more, and returns their ids. */
async function erasePeopleWithoutCompany(
  db: Queryable,
  userIds: string[],
  erase: (transaction: Queryable, userId: string) => Promise<unknown>,
): Promise<string[]> {
  const { rows } = await db.raw(
    `select array(select user_id from users u where user_id = any(?)
       and (email is not null or name <> 'Erased person')
       and not exists (select from memberships m where m.user_id = u.user_id)) as people`,
    bindings([userIds]),
  )
  const people: string[] = rows[0].people
  for (const userId of people) await db.transaction((transaction) => erase(transaction, userId))
  return people
}

/** Rejects if Redis is unavailable. The erasure goes on, since requests expire within two weeks. */
async function forgetInRedis(
  context: OperatorContext,
  company: { vendorId: string; clientIds: string[] },
): Promise<void> {
  const redis = context.usageRedis()
  await redisReady(redis, REDIS_WAIT_MS)
  await deleteRequests(redis, company)
}

/**
 * Erases the rows that each table has of an erased company, in transactions of at most `batchRows` rows, and
 * shows each table. It repeats all tables until a pass finds nothing, since a request in flight may still add
 * rows. Returns how many rows there were. If it is interrupted, the next call does what is left.
 */
export async function eraseCompanyRows(
  db: Database,
  vendorId: string,
  { show, batchRows = ROWS_PER_BATCH }: { show: ShowProgress; batchRows?: number },
): Promise<number> {
  let total = 0
  for (let pass = 1; pass > 0; total += pass) {
    pass = 0
    const { rows } = await db.raw('select relation from company_tables()')
    for (const { relation } of rows) {
      const erased = await eraseTableRows(db, { vendorId, relation, batchRows })
      if (erased > 0) show(`${relation}: ${countText(erased, 'row')}`)
      pass += erased
    }
  }
  return total
}

async function eraseTableRows(
  db: Database,
  { vendorId, relation, batchRows }: { vendorId: string; relation: string; batchRows: number },
): Promise<number> {
  let erased = 0
  const erase = 'select erase_company_rows(?, ?, ?) as erased'
  for (let batch = batchRows; batch === batchRows; erased += batch)
    batch = (await db.raw(erase, [vendorId, relation, batchRows])).rows[0].erased
  return erased
}
