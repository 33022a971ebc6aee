import { Argument, Option } from 'commander'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import type { OperatorActor } from '../../apps/api/accounts/activity.ts'
import { removeIdentities } from '../../apps/api/accounts/openid-identities.ts'
import {
  ASSIGNABLE_ROLES,
  type AssignableRole,
  COMPANY_ROLES,
  type CompanyRole,
  findMemberByEmail,
  listMembers,
  listMemberships,
  lockMembers,
  type Member,
  type MembershipStatus,
  normalizedEmail,
  type User,
} from '../../apps/api/accounts/people.ts'
import { changePerson } from '../../apps/api/people/change-person.ts'
import { addPerson } from '../../apps/api/people/invite-person.ts'
import { endAccountWithoutCompany } from '../../apps/api/people/remove-person.ts'
import { deleteSessions } from '../../apps/api/sessions/sessions.ts'
import { recordForCompanies, requireAccount, userData } from './accounts.ts'
import { type CommandGroup, formatTable, required } from './commands.ts'
import { requireCompany } from './companies.ts'
import {
  ACCOUNT_OPTIONS,
  type AccountChoice,
  type NewPerson,
  parseNewPerson,
  preparePerson,
} from './new-person.ts'
import { OperatorError } from './operator.ts'

const TITLES = { email: 'EMAIL', name: 'NAME', role: 'ROLE', status: 'STATUS' }

export const MEMBERS: CommandGroup = {
  name: 'member',
  plural: 'members',
  description: 'The people of a company',
  commands: [
    {
      name: 'add',
      description:
        'Add a person to a company. For a new account you are prompted for a password, or it is read from ' +
        'standard input.',
      example: 'member add ven_acme kim@acme.example --name "Kim R." --role admin',
      args: ['vendor_id', 'email'],
      options: [
        new Option('--name <name>', 'name of the person, for a new account'),
        ...ACCOUNT_OPTIONS,
        required('--role <role>', 'role in the company').choices(ASSIGNABLE_ROLES),
      ],
      async run(
        context,
        args: AccountChoice & { vendorId: string; email: string; name?: string; role: AssignableRole },
      ) {
        const { vendorId, role } = args
        const person = parseNewPerson(context, args)
        const member = await addMember(context.db, { vendorId, role, person, by: context.by })
        return { text: `${member.email} was added to ${vendorId} with the role ${role}.`, data: member }
      },
    },
    {
      name: 'list',
      description: 'List the people of a company',
      example: 'member list ven_acme',
      args: ['vendor_id'],
      async run({ db }, { vendorId }: { vendorId: string }) {
        await requireCompany(db, vendorId)
        const members = await listMembers(db, vendorId)
        return { text: formatTable(members, TITLES, 'The company has no members.'), data: members }
      },
    },
    {
      name: 'set-role',
      description: 'Change the role of a person. A new owner replaces the current one, who becomes an admin.',
      example: 'member set-role ven_acme admin@acme.example owner',
      args: ['vendor_id', 'email', new Argument('<role>').choices(COMPANY_ROLES)],
      async run({ db, by }, args: { vendorId: string; email: string; role: CompanyRole }) {
        const { member, formerOwner } = await changeMember(db, { ...args, by })
        const also = formerOwner ? ` ${formerOwner.email} is now an admin.` : ''
        return {
          text: `${member.email} now has the role ${args.role} in ${args.vendorId}.${also}`,
          data: { member, formerOwner: formerOwner ?? null },
        }
      },
    },
    {
      name: 'set-status',
      description: 'Suspend a person, or reactivate a suspended one. Takes effect with the next request.',
      example: 'member set-status ven_acme admin@acme.example suspended',
      args: ['vendor_id', 'email', new Argument('<status>').choices(['active', 'suspended'])],
      async run({ db, by }, args: { vendorId: string; email: string; status: MembershipStatus }) {
        const { member } = await changeMember(db, { ...args, by })
        return { text: `${member.email} is now ${args.status} in ${args.vendorId}.`, data: member }
      },
    },
    {
      name: 'unlink',
      description:
        'Unlink an account from the OpenID provider, and end all sessions of its user. No one can sign in ' +
        'to it with the provider until it is linked again.',
      example: 'member unlink kim@acme.example',
      args: ['email'],
      async run({ db, by }, { email }: { email: string }) {
        const user = await unlinkMember(db, { email, by })
        return { text: `${user.email} was unlinked; all sessions were ended.`, data: user }
      },
    },
  ],
}

/** @throws OperatorError if there is no such company, or the person already belongs to it. */
export async function addMember(
  db: Database,
  membership: { vendorId: string; role: AssignableRole; person: NewPerson; by: OperatorActor },
): Promise<Member> {
  const { vendorId, role, person: newPerson, by } = membership
  await requireCompany(db, vendorId)
  const refuseMember = async (queryable: Queryable, { email }: Pick<User, 'email'>) => {
    if (await findMemberByEmail(queryable, { vendorId, email }))
      throw new OperatorError(`${normalizedEmail(email)} already belongs to ${vendorId}.`)
  }
  await refuseMember(db, newPerson)
  const person = await preparePerson(db, newPerson)
  await db.transaction(async (transaction) => {
    await lockMembers(transaction, vendorId)
    await refuseMember(transaction, person.user)
    await person.store(transaction)
    await addPerson(transaction, { vendorId, user: person.user, role, by })
  })
  return { ...person.user, role, status: 'active' }
}

type MemberChange = Omit<Parameters<typeof changePerson>[1], 'userId' | 'through'> & { email: string }

/** @throws OperatorError if the company has no such member, or would have no active owner. */
function changeMember(
  db: Database,
  { vendorId, email, ...change }: MemberChange,
): Promise<{ member: Member; formerOwner: User | undefined }> {
  return db.transaction(async (transaction) => {
    // So that what is checked still holds when the change is made.
    await lockMembers(transaction, vendorId)
    await requireCompany(transaction, vendorId)
    const member = await findMemberByEmail(transaction, { vendorId, email })
    if (!member) throw new OperatorError(`${normalizedEmail(email)} does not belong to ${vendorId}.`)
    const outcome = await changePerson(transaction, { vendorId, userId: member.userId, ...change })
    if (typeof outcome !== 'string') return outcome
    throw new OperatorError(
      outcome === 'new_owner_suspended'
        ? `${member.email} is suspended: make them active first, with "member set-status".`
        : `${vendorId} must have an active owner: make another member who is not suspended the owner first.`,
    )
  })
}

/**
 * Unlinks the account from its OpenID provider, and ends every session of the user.
 * @throws OperatorError unless there is exactly one such account, or if it is not linked.
 */
async function unlinkMember(
  db: Database,
  { email, by }: { email: string; by: OperatorActor },
): Promise<User> {
  return db.transaction(async (transaction) => {
    const user = await requireAccount(transaction, email)
    const { userId } = user
    const vendorIds = (await listMemberships(transaction, userId)).map(({ vendorId }) => vendorId).sort()
    // A sign-in holds this lock too, so its session exists before the sessions are ended.
    for (const vendorId of vendorIds) await lockMembers(transaction, vendorId)
    if (!(await removeIdentities(transaction, userId)))
      throw new OperatorError(`${user.email} is not linked to an OpenID provider.`)
    await deleteSessions(transaction, userId)
    await endAccountWithoutCompany(transaction, userId)
    await recordForCompanies(transaction, { user, action: 'person.unlinked', by })
    return userData(user)
  })
}
