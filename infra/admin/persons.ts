import { bindings, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { type OperatorActor, recordActivity } from '../../apps/api/accounts/activity.ts'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { findMemberByEmail, lockMembers } from '../../apps/api/accounts/people.ts'
import { readAddress } from './accounts.ts'
import { type CommandGroup, countText } from './commands.ts'
import { OperatorError } from './operator.ts'

/** Entries of the activity that one statement looks at. */
const ENTRIES_PER_STEP = 5_000

const WHO = `
It takes an address, which may have several accounts, <vendor_id>:<address> for that company alone, or a user
id.`

/** What privacy laws ask for. The runbook's page on privacy says what stays. */
export const PERSONS: CommandGroup = {
  name: 'person',
  plural: 'people',
  description: 'What is stored about a person',
  commands: [
    {
      name: 'export',
      description: 'Print everything that is stored about a person, as JSON',
      progress: 'Searching the activity',
      example: 'person export kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async run({ db, by }, { address }: { address: string }) {
        const person = await findPerson(db, address)
        for (const userId of person.ids)
          await recordActivity(db, { vendorId: null, by }, 'person.exported', userId)
        const data = await exportPerson(db, person)
        return { text: JSON.stringify(data, null, 2), data }
      },
    },
    {
      name: 'erase',
      description:
        'Erase what is stored about a person, permanently. All access ends at once. An owner must hand ' +
        'over first.',
      progress: 'Going through the activity',
      example: 'person erase kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async effect({ db }, { address }: { address: string }) {
        const { ids, invitations, entries } = await findPerson(db, address)
        const companies = new Set([...invitations, ...entries].map(({ vendorId }) => vendorId))
        companies.delete(null)
        const where = companies.size > 0 ? `, known to ${[...companies].join(', ')},` : ''
        return `${ids.join(', ')}${where} will be erased permanently. All access ends at once.`
      },
      async run({ db, by }, { address }: { address: string }) {
        const erased = await erasePerson(db, { address, by })
        const { userIds, entries } = erased
        return {
          text: `Erased: ${userIds.join(', ')}. The name was removed from ${countText(entries, 'entry', 'entries')} of the activity.`,
          data: erased,
        }
      },
    },
  ],
}

/** An entry of the activity, as far as it is about a person. */
interface PersonEntry {
  /** ISO 8601. */
  at: string
  vendorId: string | null
  userId: string | null
  action: string
  subject: string
  detail: { email?: unknown }
}

/** Someone about whom something is stored. */
interface Person {
  /** Accounts, also those that have ended, and the ids that invitations gave. */
  ids: string[]
  /** As they are exported. */
  invitations: { vendorId: string; userId: string }[]
  /** What the person did, and what was done about the person; oldest first. */
  entries: PersonEntry[]
}

/** The part of the records to search: an account, an address in one company, or an address everywhere. */
interface Search {
  userId: string | null
  email: string | null
  vendorId: string | null
}

/**
 * Finds what belongs to an address, to `vendor_id:address` (in that company alone), or to a user id. An
 * account that has ended has no address any more, so it is found by the entries of the activity that have it.
 * @throws OperatorError if nothing is stored.
 */
async function findPerson(db: Queryable, address: string): Promise<Person> {
  const search = parseSearch(address)
  const invitations = await readInvitations(db, search)
  const ids = new Set([...(await readAccountIds(db, search)), ...invitations.map(({ userId }) => userId)])
  for (;;) {
    const size = ids.size
    const entries = await readEntries(db, search, [...ids])
    const matches = entries.filter(({ detail }) => search.email !== null && detail.email === search.email)
    for (const { subject } of matches) ids.add(subject)
    if (ids.size > size) continue
    if (search.userId !== null && entries.length > 0) ids.add(search.userId)
    if (ids.size === 0) throw new OperatorError(`Nothing is stored about ${address}.`)
    return { ids: [...ids], invitations, entries }
  }
}

const parseSearch = (address: string): Search =>
  /^usr_[A-Za-z0-9]{1,60}$/.test(address)
    ? { userId: address, email: null, vendorId: null }
    : { userId: null, ...readAddress(address) }

async function readAccountIds(db: Queryable, { userId, email, vendorId }: Search): Promise<string[]> {
  if (vendorId !== null && email !== null) {
    const member = await findMemberByEmail(db, { vendorId, email })
    return member ? [member.userId] : []
  }
  const { rows } = await db.raw('select user_id as "userId" from users where user_id = ? or email = ?', [
    userId,
    email,
  ])
  return rows.map((row: { userId: string }) => row.userId)
}

async function readInvitations(
  db: Queryable,
  { userId, email, vendorId }: Search,
): Promise<Person['invitations']> {
  const { rows } = await db.raw(
    `select vendor_id as "vendorId", user_id as "userId", email, name, role, created_at as "createdAt",
       expires_at as "expiresAt"
     from invitations where (user_id = ? or email = ?) and vendor_id = coalesce(?, vendor_id)
     order by created_at`,
    [userId, email, vendorId],
  )
  return rows
}

async function readEntries(
  db: Queryable,
  { userId, email, vendorId }: Search,
  ids: string[],
): Promise<PersonEntry[]> {
  const about = userId === null ? ids : [...ids, userId]
  const result: PersonEntry[] = []
  for await (const step of activitySteps(db)) {
    const { rows } = await db.raw(
      `select coalesce(jsonb_agg(jsonb_build_object('at', at, 'vendorId', vendor_id, 'userId', user_id,
           'action', action, 'subject', subject, 'detail', detail) order by entry_id), '[]') as entries
       from activity where entry_id > ? and entry_id <= ?
         and vendor_id is not distinct from coalesce(?, vendor_id)
         and (user_id = any(?) or subject = any(?) or detail->>'email' = ?)`,
      bindings([...step, vendorId, about, about, email]),
    )
    for (const entry of rows[0].entries) result.push(entry)
  }
  return result
}

/**
 * Yields ranges of entries, up to and including the second id, that together are the whole activity: no index
 * finds a person or an address there.
 */
export async function* activitySteps(db: Queryable): AsyncGenerator<[after: number, last: number]> {
  for (let after = 0; ; ) {
    const { rows } = await db.raw(
      'select max(entry_id) as last from (select entry_id from activity where entry_id > ? order by 1 ' +
        'limit ?) step',
      [after, ENTRIES_PER_STEP],
    )
    const { last } = rows[0]
    if (last === null) return
    yield [after, last]
    after = last
  }
}

/** What each table has about an account, without credentials: neither tokens nor their hashes. */
const ACCOUNT_QUERIES = {
  memberships: `select vendor_id as "vendorId", name as company, role, status
    from memberships join companies using (vendor_id) where user_id = ?`,
  sessions: `select session_id as "sessionId", created_at as "createdAt", last_seen_at as "lastSeenAt",
      expires_at as "expiresAt", authenticated_at as "authenticatedAt", address, user_agent as "userAgent",
      openid_issuer as "openidIssuer" from sessions where user_id = ?`,
  signInPlaces: `select case when starts_with(address, 'browser:') then 'a browser' else address end as place,
      last_at as "lastAt" from sign_in_addresses where user_id = ?`,
  mails: `select kind, topic as about, vendor_id as "vendorId", created_at as "createdAt" from mails
    where user_id = ?`,
  openidIdentities: `select issuer, subject, created_at as "createdAt" from openid_identities
    where user_id = ?`,
  clientsCreated: `select vendor_id as "vendorId", client_id as "clientId", name, created_at as at
    from oauth_clients where created_by = ?`,
  clientsRevoked: `select vendor_id as "vendorId", client_id as "clientId", name, revoked_at as at
    from oauth_clients where revoked_by = ?`,
  callbacksSaved: `select vendor_id as "vendorId", updated_at as at from callback_destinations
    where updated_by = ?`,
  idempotencyKeys: `select vendor_id as "vendorId", idempotency_key as key, client_id as "clientId",
      created_at as at
    from client_creation_keys where user_id = ?`,
} as const

/**
 * Returns everything that is stored about a person, for that person. It has no details of entries about
 * someone else, and does not say who else acted.
 */
async function exportPerson(db: Queryable, { ids, invitations, entries }: Person) {
  const { rows: accounts } = await db.raw(
    `select user_id as "userId", email, name, created_at as "createdAt" from users where user_id = any(?)
     order by created_at`,
    bindings([ids]),
  )
  for (const account of accounts)
    for (const [what, sql] of Object.entries(ACCOUNT_QUERIES))
      account[what] = (await db.raw(sql, [account.userId])).rows
  const activity = entries.map(({ userId, subject, detail, ...entry }) => ({
    ...entry,
    byThisPerson: userId !== null && ids.includes(userId),
    subject,
    ...(ids.includes(subject) && { detail }),
  }))
  return { accounts, invitations, activity }
}

/**
 * Erases what is stored about a person. Access ends at once, with the entries `person.erased`; the names in
 * the activity follow step by step. An interrupted run is finished by the next erasure of anyone.
 * @param address as for `findPerson`.
 * @throws OperatorError if nothing is stored, or the person owns a company.
 */
export async function erasePerson(
  db: Database,
  { address, by }: { address: string; by: OperatorActor },
): Promise<{ userIds: string[]; entries: number }> {
  const person = await findPerson(db, address)
  await db.transaction(async (transaction) => {
    const memberships = await lockMemberships(transaction, person)
    const links = [
      ...memberships,
      ...person.invitations,
      ...person.entries.map(({ subject, vendorId }) => ({ userId: subject, vendorId })),
    ]
    for (const userId of person.ids) {
      const about = links.filter((entry) => entry.userId === userId)
      const vendorIds = new Set(about.map(({ vendorId }) => vendorId))
      await eraseAccount(transaction, { userId, vendorIds: [...vendorIds], by })
    }
  })
  return { userIds: person.ids, entries: await eraseFromActivity(db) }
}

/** Locks the members of all the person's companies. @throws OperatorError if the person owns one. */
async function lockMemberships(
  transaction: Queryable,
  { ids }: Person,
): Promise<{ userId: string; vendorId: string }[]> {
  const readMemberships = async (): Promise<{ userId: string; vendorId: string; role: string }[]> => {
    const { rows } = await transaction.raw(
      `select user_id as "userId", vendor_id as "vendorId", role from memberships where user_id = any(?)
       order by vendor_id`,
      bindings([ids]),
    )
    return rows
  }
  for (const { vendorId } of await readMemberships()) await lockMembers(transaction, vendorId)
  const memberships = await readMemberships()
  const owned = memberships.filter(({ role }) => role === 'owner').map(({ vendorId }) => vendorId)
  if (owned.length === 0) return memberships
  throw new OperatorError(
    `This person owns ${owned.join(', ')}. First hand over (member set-role ${owned[0]} <email> owner), or ` +
      'erase the company.',
  )
}

/** Ends the account, and records that for each company, or for none. */
export async function eraseAccount(
  transaction: Queryable,
  { userId, vendorIds, by }: { userId: string; vendorIds: (string | null)[]; by: OperatorActor },
): Promise<void> {
  for (const vendorId of vendorIds.length > 0 ? vendorIds : [null])
    await recordActivity(transaction, { vendorId, by }, 'person.erased', userId)
  await transaction.raw('select erase_person(?, ?)', [userId, unusableHash()])
}

/**
 * Removes the names of everyone and everything erased from the activity. Returns the number of entries that
 * had any. What remains, and why, is in 0006_erasure.sql.
 */
export async function eraseFromActivity(db: Queryable): Promise<number> {
  let total = 0
  for (let after = 0; ; ) {
    const step = [after, ENTRIES_PER_STEP]
    const { rows } = await db.raw('select last_entry as last, erased from erase_from_activity(?, ?)', step)
    total += rows[0].erased
    if (rows[0].last === null) return total
    after = rows[0].last
  }
}
