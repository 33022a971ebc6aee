import { Argument, type Command, Option } from 'commander'
import { listCompanies, listMembers, type MembershipStatus, type Role } from '#shared/accounts/people.ts'
import { command, group, type Run, table } from './commands.ts'
import {
  addMember,
  createCompany,
  replacePassword,
  requireCompany,
  setRole,
  setStatus,
  unlinkMember,
} from './people.ts'

type AskPassword = (email: string) => Promise<string>

/** Companies, their people, and passwords. */
export function addPeopleCommands(program: Command, run: Run, askPassword: AskPassword): void {
  addCompanyCommands(group(program, 'company', 'Companies', 'companies'), run, askPassword)
  const member = group(program, 'member', 'The people of a company', 'members')
  addMemberCommands(member, run, askPassword)
  addUnlinkCommand(member, run)
  const password = group(program, 'password', 'Passwords')
  command(
    password,
    'reset',
    "Set a user's password and end all of the user's sessions. You are prompted for the password, or it is read from standard input.",
    'password reset owner@acme.example',
  )
    .argument('<email>')
    .action((email: string) =>
      run(async ({ db, by }) => {
        const user = await replacePassword(db, { email, password: () => askPassword(email), by })
        return { text: `${user.email} has a new password; all sessions were ended.`, data: user }
      }),
    )
}

const existingAccount = () =>
  new Option('--existing-account', 'use the existing account for this email address').conflicts('newAccount')
const newAccount = () =>
  new Option(
    '--new-account',
    'create a separate account with a password of its own, although the email address has one',
  )
const accountChoice = (options: { existingAccount?: true; newAccount?: true }) =>
  options.existingAccount ? ('existing' as const) : options.newAccount ? ('new' as const) : undefined

interface CompanyOptions {
  name: string
  timezone: string
  currency: string
  ownerEmail: string
  ownerName?: string
  existingAccount?: true
  newAccount?: true
  vendorId?: string
}

function addCompanyCommands(company: Command, run: Run, askPassword: AskPassword): void {
  command(
    company,
    'create',
    'Create a company with its owner. For a new account you are prompted for the password, or it is read from standard input.',
    'company create --name "Initech" --timezone America/Chicago --currency USD --owner-email bill@initech.example --owner-name "Bill L."',
  )
    .requiredOption('--name <name>', 'name of the company')
    .requiredOption('--timezone <zone>', 'IANA time zone for its daily figures')
    .requiredOption('--currency <code>', 'ISO 4217 currency of its figures')
    .requiredOption('--owner-email <email>', 'email address that the owner signs in with')
    .option('--owner-name <name>', 'name of the owner, for a new account')
    .addOption(existingAccount())
    .addOption(newAccount())
    .option('--vendor-id <id>', 'identifier of the company (default: a random one)')
    .action((options: CompanyOptions) =>
      run(async ({ db, by }) => {
        const created = await createCompany(db, {
          by,
          vendorId: options.vendorId,
          name: options.name,
          timezone: options.timezone,
          currency: options.currency,
          owner: {
            email: options.ownerEmail,
            name: options.ownerName,
            password: () => askPassword(options.ownerEmail),
            account: accountChoice(options),
          },
        })
        return {
          text: `Created ${created.company.vendorId}, owned by ${created.owner.email}.`,
          data: created,
        }
      }),
    )
  command(company, 'list', 'List the companies', 'company list').action(() =>
    run(async ({ db }) => {
      const companies = await listCompanies(db)
      const rows = companies.map(({ vendorId, name, timezone, currency }) => [
        vendorId,
        name,
        timezone,
        currency,
      ])
      return {
        text: table(['VENDOR ID', 'NAME', 'TIME ZONE', 'CURRENCY'], rows, 'There are no companies yet.'),
        data: companies,
      }
    }),
  )
}

interface NewMemberOptions {
  name?: string
  role: 'admin' | 'member'
  existingAccount?: true
  newAccount?: true
}

function addMemberCommands(member: Command, run: Run, askPassword: AskPassword): void {
  command(
    member,
    'add',
    'Add a person to a company. For a new account you are prompted for a password, or it is read from standard input.',
    'member add ven_acme kim@acme.example --name "Kim R." --role admin',
  )
    .argument('<vendor_id>')
    .argument('<email>')
    .option('--name <name>', 'name of the person, for a new account')
    .addOption(existingAccount())
    .addOption(newAccount())
    .addOption(
      new Option('--role <role>', 'role in the company').choices(['admin', 'member']).makeOptionMandatory(),
    )
    .action((vendorId: string, email: string, options: NewMemberOptions) =>
      run(async ({ db, by }) => {
        const { name, role } = options
        const person = { email, name, password: () => askPassword(email), account: accountChoice(options) }
        const added = await addMember(db, { vendorId, role, person, by })
        return { text: `${added.email} was added to ${vendorId} with the role ${role}.`, data: added }
      }),
    )
  command(member, 'list', 'List the people of a company', 'member list ven_acme')
    .argument('<vendor_id>')
    .action((vendorId: string) =>
      run(async ({ db }) => {
        await requireCompany(db, vendorId)
        const members = await listMembers(db, vendorId)
        const rows = members.map(({ email, name, role, status }) => [email, name, role, status])
        return {
          text: table(['EMAIL', 'NAME', 'ROLE', 'STATUS'], rows, 'The company has no members.'),
          data: members,
        }
      }),
    )
  command(
    member,
    'set-role',
    'Change the role of a person. A new owner replaces the current one, who becomes an admin.',
    'member set-role ven_acme admin@acme.example owner',
  )
    .argument('<vendor_id>')
    .argument('<email>')
    .addArgument(new Argument('<role>').choices(['owner', 'admin', 'member']))
    .action((vendorId: string, email: string, role: Role) =>
      run(async ({ db, by }) => {
        const { member: changed, formerOwner } = await setRole(db, { vendorId, email, role, by })
        const also = formerOwner ? ` ${formerOwner.email} is now an admin.` : ''
        return {
          text: `${changed.email} now has the role ${role} in ${vendorId}.${also}`,
          data: { member: changed, formerOwner: formerOwner ?? null },
        }
      }),
    )
  command(
    member,
    'set-status',
    'Suspend a person, or reactivate a suspended one. Takes effect with the next request.',
    'member set-status ven_acme admin@acme.example suspended',
  )
    .argument('<vendor_id>')
    .argument('<email>')
    .addArgument(new Argument('<status>').choices(['active', 'suspended']))
    .action((vendorId: string, email: string, status: MembershipStatus) =>
      run(async ({ db, by }) => {
        const changed = await setStatus(db, { vendorId, email, status, by })
        return { text: `${changed.email} is now ${status} in ${vendorId}.`, data: changed }
      }),
    )
}

function addUnlinkCommand(member: Command, run: Run): void {
  command(
    member,
    'unlink',
    'Unlink an account from the OpenID provider, and end all sessions of its user. No one can sign in to it with the provider until it is linked again.',
    'member unlink kim@acme.example',
  )
    .argument('<email>')
    .action((email: string) =>
      run(async ({ db, by }) => {
        const user = await unlinkMember(db, { email, by })
        return { text: `${user.email} was unlinked; all sessions were ended.`, data: user }
      }),
    )
}
