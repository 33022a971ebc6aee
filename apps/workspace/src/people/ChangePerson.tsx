import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useCompany } from '../api/company.ts'
import type { Person, PersonChange, Role } from '../api/contract.ts'
import { sendPersonChange, sendPersonRemoval } from '../api/resources.ts'
import { useSignInMethods } from '../session/openid.ts'
import { Bullets } from '../ui/Bullets.tsx'
import type { ErrorWords } from '../ui/explain.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { useToast } from '../ui/Toaster.tsx'

/** Why a change of the people failed. */
export const PEOPLE_ERRORS: ErrorWords = {
  title: 'Nothing was changed',
  uncertain: 'The change may or may not have been made',
  404: { title: 'This person is no longer here', text: 'Close this to see who is here now.' },
}

interface Words {
  title: (name: string) => ReactNode
  facts: readonly string[]
  /** The person may have created clients, which keep working. */
  leavesClients?: boolean
  button: string
  /** Takes something away from someone with one of these roles. */
  dangerFor: readonly Role[]
  done: (name: string) => ReactNode
  /** Without one, the person leaves the company. */
  change?: PersonChange
}

const ANYONE: readonly Role[] = ['owner', 'admin', 'viewer', 'member']

/** By the role that a person gets, or by what else happens to their place in the company. */
export const CHANGES = {
  admin: {
    title: (name) => say`Make ${name} an admin?`,
    facts: [
      'Admins create, rotate and revoke clients, and set the callback URL.',
      'This takes effect at once.',
    ],
    button: 'Make an admin',
    dangerFor: [],
    done: (name) => say`${name} is now an admin`,
    change: { role: 'admin' },
  },
  viewer: {
    title: (name) => say`Make ${name} a viewer?`,
    facts: [
      'Viewers see clients, why their requests fail, the callback URL and analytics.',
      'They cannot change anything, and see neither activity nor people.',
      'This takes effect at once.',
    ],
    leavesClients: true,
    button: 'Make a viewer',
    dangerFor: ['admin'],
    done: (name) => say`${name} is now a viewer`,
    change: { role: 'viewer' },
  },
  member: {
    title: (name) => say`Make ${name} a member?`,
    facts: ['Members see nothing in the company. This takes effect at once.'],
    leavesClients: true,
    button: 'Make a member',
    dangerFor: ANYONE,
    done: (name) => say`${name} is now a member`,
    change: { role: 'member' },
  },
  suspend: {
    title: (name) => say`Suspend ${name}?`,
    facts: [
      'This person loses access to the company at once, but keeps their role and account.',
      'You can lift the suspension at any time.',
    ],
    leavesClients: true,
    button: 'Suspend',
    dangerFor: ANYONE,
    done: (name) => say`${name} is suspended`,
    change: { status: 'suspended' },
  },
  restore: {
    title: (name) => say`Lift the suspension of ${name}?`,
    facts: ['This person can do what their role allows again, at once.'],
    button: 'Lift the suspension',
    dangerFor: [],
    done: (name) => say`${name} is active again`,
    change: { status: 'active' },
  },
  remove: {
    title: (name) => say`Remove ${name} from the company?`,
    facts: ['This person loses access to the company at once.', 'Activity still shows what they did.'],
    leavesClients: true,
    button: 'Remove',
    dangerFor: ANYONE,
    done: (name) => say`${name} was removed`,
  },
  withdraw: {
    title: (name) => say`Withdraw the invitation for ${name}?`,
    facts: ['This person can no longer join with their link.'],
    button: 'Withdraw the invitation',
    dangerFor: ANYONE,
    done: (name) => say`The invitation for ${name} was withdrawn`,
  },
} satisfies Record<string, Words>
export type Change = keyof typeof CHANGES

interface ChangePersonProps {
  person: Person
  change: Change
  onClose: () => void
}

/** Says what a change of someone's place in the company leads to, and makes it. */
export function ChangePerson({ person, change, onClose }: ChangePersonProps) {
  const { vendorId } = useCompany()
  const toast = useToast()
  const words: Words = CHANGES[change]
  const form = useForm({
    words: PEOPLE_ERRORS,
    async send() {
      if (words.change) await sendPersonChange(vendorId, person.userId, words.change)
      else await sendPersonRemoval(vendorId, person.userId)
      onClose()
      toast(words.done(person.name))
    },
  })
  return (
    <FormDialog
      title={words.title(person.name)}
      description={person.email}
      form={form}
      action={words.button}
      danger={words.dangerFor.includes(person.role)}
      onClose={onClose}
    >
      <Bullets>
        {words.facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
        {change === 'remove' && <ComesBack />}
        {words.change?.role && <RoleOfProvider />}
        {words.leavesClients && <ClientsStay userId={person.userId} />}
      </Bullets>
    </FormDialog>
  )
}

function ComesBack() {
  const invites = useSignInMethods()?.builtInAccounts !== false
  return (
    <li>
      To come back, they need{' '}
      {invites ? 'a new invitation' : 'the operator of this service to add them again'}.
    </li>
  )
}

function RoleOfProvider() {
  const openid = useSignInMethods()?.openid
  return (
    openid && (
      <li>{say`If they sign in with ${openid.name}, each sign-in gives them the role that it has for them.`}</li>
    )
  )
}

/** Leads to the clients whose secrets and keys this person may know. */
function ClientsStay({ userId }: { userId: string }) {
  const { to } = useCompany()
  return (
    <li>
      Clients that this person created keep working. Revoke those whose secrets or keys are at risk.{' '}
      <Link href={`${to('clients')}?createdBy=${userId}`}>Show these clients</Link>
    </li>
  )
}
