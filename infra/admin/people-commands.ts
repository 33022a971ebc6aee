import { Argument, Option } from 'commander'
import {
  listCompanies,
  listMembers,
  type MembershipStatus,
  type Role,
} from '../../apps/api/accounts/people.ts'
import { type OperatorContext, required, type Subject, table } from './commands.ts'
import { askNewPassword } from './password.ts'
import {
  addMember,
  changeMember,
  createCompany,
  type NewPerson,
  replacePassword,
  requireCompany,
  unlinkMember,
} from './people.ts'

const COMPANY_TITLES = { vendorId: 'VENDOR ID', name: 'NAME', timezone: 'TIME ZONE', currency: 'CURRENCY' }
const MEMBER_TITLES = { email: 'EMAIL', name: 'NAME', role: 'ROLE', status: 'STATUS' }
const ACCOUNT_OPTIONS = [
  new Option('--existing-account', 'use the existing account for this email address').conflicts('newAccount'),
  new Option(
    '--new-account',
    'create a separate account with a password of its own, although the email address has one',
  ),
]

type AccountChoice = { existingAccount?: true; newAccount?: true }

/** The password is asked for only when it turns out that there is a new account. */
function personOf(
  context: OperatorContext,
  { email, name, ...chosen }: AccountChoice & { email: string; name?: string | undefined },
): NewPerson {
  const account = chosen.existingAccount ? 'existing' : chosen.newAccount ? 'new' : undefined
  return { email, name, password: () => askNewPassword(email, context), account }
}

type CompanyOptions = AccountChoice & {
  name: string
  timezone: string
  currency: string
  ownerEmail: string
  ownerName?: string
  vendorId?: string
}

export const COMPANIES: Subject = {
  name: 'company',
  plural: 'companies',
  description: 'Companies',
  commands: [
    {
      name: 'create',
      description:
        'Create a company with its owner. For a new account you are prompted for the password, or it is read from standard input.',
      example:
        'company create --name "Initech" --timezone America/Chicago --currency USD --owner-email bill@initech.example --owner-name "Bill L."',
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
        { ownerEmail, ownerName, vendorId, name, timezone, currency, ...choice }: CompanyOptions,
      ) {
        const owner = personOf(context, { email: ownerEmail, name: ownerName, ...choice })
        const company = { vendorId, name, timezone, currency, owner, by: context.by }
        const created = await createCompany(context.db, company)
        const text = `Created ${created.company.vendorId}, owned by ${created.owner.email}.`
        return { text, data: created }
      },
    },
    {
      name: 'list',
      description: 'List the companies',
      example: 'company list',
      async run({ db }) {
        const companies = await listCompanies(db)
        return { text: table(companies, COMPANY_TITLES, 'There are no companies yet.'), data: companies }
      },
    },
  ],
}

export const MEMBERS: Subject = {
  name: 'member',
  plural: 'members',
  description: 'The people of a company',
  commands: [
    {
      name: 'add',
      description:
        'Add a person to a company. For a new account you are prompted for a password, or it is read from standard input.',
      example: 'member add ven_acme kim@acme.example --name "Kim R." --role admin',
      args: ['vendor_id', 'email'],
      options: [
        new Option('--name <name>', 'name of the person, for a new account'),
        ...ACCOUNT_OPTIONS,
        required('--role <role>', 'role in the company').choices(['admin', 'member']),
      ],
      async run(
        context,
        given: AccountChoice & { vendorId: string; email: string; name?: string; role: 'admin' | 'member' },
      ) {
        const { vendorId, role } = given
        const person = personOf(context, given)
        const added = await addMember(context.db, { vendorId, role, person, by: context.by })
        return { text: `${added.email} was added to ${vendorId} with the role ${role}.`, data: added }
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
        return { text: table(members, MEMBER_TITLES, 'The company has no members.'), data: members }
      },
    },
    {
      name: 'set-role',
      description: 'Change the role of a person. A new owner replaces the current one, who becomes an admin.',
      example: 'member set-role ven_acme admin@acme.example owner',
      args: ['vendor_id', 'email', new Argument('<role>').choices(['owner', 'admin', 'member'])],
      async run({ db, by }, given: { vendorId: string; email: string; role: Role }) {
        const { member, formerOwner } = await changeMember(db, { ...given, by })
        const also = formerOwner ? ` ${formerOwner.email} is now an admin.` : ''
        return {
          text: `${member.email} now has the role ${given.role} in ${given.vendorId}.${also}`,
          data: { member, formerOwner: formerOwner ?? null },
        }
      },
    },
    {
      name: 'set-status',
      description: 'Suspend a person, or reactivate a suspended one. Takes effect with the next request.',
      example: 'member set-status ven_acme admin@acme.example suspended',
      args: ['vendor_id', 'email', new Argument('<status>').choices(['active', 'suspended'])],
      async run({ db, by }, given: { vendorId: string; email: string; status: MembershipStatus }) {
        const { member } = await changeMember(db, { ...given, by })
        return { text: `${member.email} is now ${given.status} in ${given.vendorId}.`, data: member }
      },
    },
    {
      name: 'unlink',
      description:
        'Unlink an account from the OpenID provider, and end all sessions of its user. No one can sign in to it with the provider until it is linked again.',
      example: 'member unlink kim@acme.example',
      args: ['email'],
      async run({ db, by }, { email }: { email: string }) {
        const user = await unlinkMember(db, { email, by })
        return { text: `${user.email} was unlinked; all sessions were ended.`, data: user }
      },
    },
  ],
}

export const PASSWORDS: Subject = {
  name: 'password',
  description: 'Passwords',
  commands: [
    {
      name: 'reset',
      description:
        "Set a user's password and end all of the user's sessions. You are prompted for the password, or it is read from standard input.",
      example: 'password reset owner@acme.example',
      args: ['email'],
      async run(context, { email }: { email: string }) {
        const password = () => askNewPassword(email, context)
        const user = await replacePassword(context.db, { email, password, by: context.by })
        return { text: `${user.email} has a new password; all sessions were ended.`, data: user }
      },
    },
  ],
}
