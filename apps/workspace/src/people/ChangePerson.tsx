import type { FormEvent, ReactNode } from 'react'
import { useCompany } from '../api/company.ts'
import type { Person } from '../api/contract.ts'
import { sendPersonChange, sendPersonRemoval } from '../api/resources.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { say } from '../ui/say.tsx'
import { useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'
import { PEOPLE_ERRORS } from './roles.ts'

export type Change = 'make admin' | 'make member' | 'suspend' | 'restore' | 'remove' | 'withdraw'

interface Words {
  title: (name: string) => ReactNode
  facts: readonly string[]
  button: string
  /** Takes something away. */
  danger: boolean
  done: (name: string) => ReactNode
  /** Resolves when it is done. */
  send: (vendorId: string, userId: string) => Promise<unknown>
}

const CLIENTS_STAY =
  'Clients that this person created keep working. Revoke those whose secrets or keys are at risk.'

const CHANGES: Record<Change, Words> = {
  'make admin': {
    title: (name) => say`Make ${name} an admin?`,
    facts: [
      'Admins create, rotate and revoke clients, and set the callback URL.',
      'This takes effect at once.',
    ],
    button: 'Make an admin',
    danger: false,
    done: (name) => say`${name} is now an admin`,
    send: (vendorId, userId) => sendPersonChange(vendorId, userId, { role: 'admin' }),
  },
  'make member': {
    title: (name) => say`Make ${name} a member?`,
    facts: ['Members see nothing in the company. This takes effect at once.', CLIENTS_STAY],
    button: 'Make a member',
    danger: true,
    done: (name) => say`${name} is now a member`,
    send: (vendorId, userId) => sendPersonChange(vendorId, userId, { role: 'member' }),
  },
  suspend: {
    title: (name) => say`Suspend ${name}?`,
    facts: [
      'This person loses access to the company at once, but keeps their role and account.',
      CLIENTS_STAY,
      'You can lift the suspension at any time.',
    ],
    button: 'Suspend',
    danger: true,
    done: (name) => say`${name} is suspended`,
    send: (vendorId, userId) => sendPersonChange(vendorId, userId, { status: 'suspended' }),
  },
  restore: {
    title: (name) => say`Lift the suspension of ${name}?`,
    facts: ['This person can do what the role allows again, at once.'],
    button: 'Lift the suspension',
    danger: false,
    done: (name) => say`${name} is active again`,
    send: (vendorId, userId) => sendPersonChange(vendorId, userId, { status: 'active' }),
  },
  remove: {
    title: (name) => say`Remove ${name} from the company?`,
    facts: [
      'This person loses access to the company at once. To come back, they need a new invitation.',
      CLIENTS_STAY,
      'Activity still shows what they did.',
    ],
    button: 'Remove',
    danger: true,
    done: (name) => say`${name} is removed`,
    send: sendPersonRemoval,
  },
  withdraw: {
    title: (name) => say`Withdraw the invitation of ${name}?`,
    facts: ['The link stops working at once.'],
    button: 'Withdraw the invitation',
    danger: true,
    done: (name) => say`The invitation of ${name} is withdrawn`,
    send: sendPersonRemoval,
  },
}

export interface ChangePersonProps {
  person: Person
  change: Change
  onClose: () => void
}

/** Says what a change of someone's place in the company leads to, and makes it. */
export function ChangePerson({ person, change, onClose }: ChangePersonProps) {
  const { vendorId } = useCompany()
  const toast = useToast()
  const { title, facts, button, danger, done, send } = CHANGES[change]
  const { run, isPending, failure } = useSubmission(PEOPLE_ERRORS)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    return run(async () => {
      await send(vendorId, person.userId)
      onClose()
      toast(done(person.name))
    })
  }
  return (
    <FormDialog
      title={title(person.name)}
      description={person.email}
      form={{ isPending, failure, submit }}
      action={button}
      danger={danger}
      onClose={onClose}
    >
      <ul className="facts">
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
    </FormDialog>
  )
}
