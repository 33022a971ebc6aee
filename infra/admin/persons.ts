import { bindings, type Database, type Queryable } from '#shared/stores/postgres.ts'
import { type Operator, record } from '../../apps/api/accounts/activity.ts'
import { unusableHash } from '../../apps/api/accounts/passwords.ts'
import { lockMembers } from '../../apps/api/accounts/people.ts'
import type { Subject } from './commands.ts'
import { OperatorError } from './operator.ts'
import { exportPerson, findPerson, type Person, ROWS_A_STEP } from './person-records.ts'

const WHO = `
It takes an address, which may have several accounts, <vendor_id>:<address> for that company alone, or a user id.`

/** What privacy laws ask for. The runbook's page on privacy says what stays. */
export const PERSONS: Subject = {
  name: 'person',
  plural: 'people',
  description: 'What is stored about a person',
  commands: [
    {
      name: 'export',
      description: 'Print everything that is stored about a person, as JSON',
      doing: 'Searching the activity',
      example: 'person export kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async run({ db, by }, { address }: { address: string }) {
        const person = await findPerson(db, address)
        for (const userId of person.ids) await record(db, { vendorId: null, by }, 'person.exported', userId)
        const data = await exportPerson(db, person)
        return { text: JSON.stringify(data, null, 2), data }
      },
    },
    {
      name: 'erase',
      description:
        'Erase what is stored about a person, permanently. All access ends at once. An owner must hand over first.',
      doing: 'Going through the activity',
      example: 'person erase kim@acme.example',
      args: ['address'],
      explanation: WHO,
      async effect({ db }, { address }: { address: string }) {
        const { ids, invitations, entries } = await findPerson(db, address)
        const companies = new Set([...invitations, ...entries].map(({ vendorId }) => vendorId))
        companies.delete(null)
        const known = companies.size > 0 ? `, known to ${[...companies].join(', ')},` : ''
        return `${ids.join(', ')}${known} will be erased permanently. All access ends at once.`
      },
      async run({ db, by }, { address }: { address: string }) {
        const erased = await erasePerson(db, { given: address, by })
        const { userIds, entries } = erased
        return {
          text: `Erased: ${userIds.join(', ')}; ${entries} entries of the activity have no name any more.`,
          data: erased,
        }
      },
    },
  ],
}

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
      await eraseAccount(transaction, { userId, vendorIds: [...vendorIds], by })
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
      bindings([ids]),
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

/** Ends the account, and records that for each company, or for none. */
export async function eraseAccount(
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
export async function eraseFromActivity(db: Queryable): Promise<number> {
  let total = 0
  for (let after = 0; ; ) {
    const step = [after, ROWS_A_STEP]
    const { rows } = await db.raw('select last_entry as last, erased from erase_from_activity(?, ?)', step)
    total += rows[0].erased
    if (rows[0].last === null) return total
    after = rows[0].last
  }
}
