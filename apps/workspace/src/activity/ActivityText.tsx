import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ActivityEntry } from '../api/contract.ts'
import { roleName, SCREENS, useCompany } from '../shell/company.ts'

/** What happened, as the rest of a sentence that begins with who did it. */
export function ActivityText({ entry }: { entry: ActivityEntry }): ReactNode {
  const { action, subject, detail } = entry
  const name = textIn(detail, 'name') ?? subject
  const role = roleIn(detail)
  switch (action) {
    case 'client.created':
      return (
        <>
          created the client <Client entry={entry} />
        </>
      )
    case 'client.renamed':
      return (
        <>
          renamed the client <bdi>{textIn(detail.before, 'name')}</bdi> to{' '}
          <Client entry={entry} name={textIn(detail.after, 'name')} />
        </>
      )
    case 'client.revoked':
      return (
        <>
          revoked the client <Client entry={entry} />
        </>
      )
    case 'callback.saved':
      return <Destination before={textIn(detail.before, 'host')} after={subject} />
    case 'company.created':
      return <>created the company</>
    case 'person.added':
      return (
        <>
          added <Person name={name} /> as {role}
        </>
      )
    case 'person.invited':
      return (
        <>
          invited <Person name={name} /> as {role}
        </>
      )
    case 'person.joined':
      return detail.through === 'openid' ? (
        <>joined as {role} by signing in with the OpenID provider</>
      ) : (
        <>accepted the invitation and joined as {role}</>
      )
    case 'person.linked':
      return <>linked this account to the OpenID provider</>
    case 'person.unlinked':
      return (
        <>
          unlinked the account of <Person name={name} /> from the OpenID provider
        </>
      )
    case 'person.password_reset':
      return (
        <>
          set a new password for <Person name={name} /> and ended all sessions of that account
        </>
      )
    case 'person.changed':
      return <PersonChange name={name} detail={detail} />
    case 'person.removed':
      return (
        <>
          removed <Person name={name} />, whose role was {role}
        </>
      )
    case 'address.claimed':
      return (
        <>
          ended the sessions of <Person name={name} />, because someone accepted another company’s invitation
          to the same address with another password
        </>
      )
    case 'invitation.withdrawn':
      return (
        <>
          withdrew the invitation of <Person name={name} /> as {role}
        </>
      )
    case 'analytics.imported':
      return (
        <>
          imported reported events from the file <bdi className="wrap">{textIn(detail, 'file')}</bdi>
        </>
      )
    default:
      return (
        <>
          {action} <code className="wrap">{subject}</code>
        </>
      )
  }
}

function Client({
  entry,
  name = textIn(entry.detail, 'name'),
}: {
  entry: ActivityEntry
  name?: string | undefined
}) {
  const { to } = useCompany()
  return (
    <Link href={`${to(SCREENS.clients)}/${entry.subject}`}>
      {name ? <bdi>{name}</bdi> : <code className="wrap">{entry.subject}</code>}
    </Link>
  )
}

const Person = ({ name }: { name: string }) => <bdi className="strong">{name}</bdi>

function Destination({ before, after }: { before: string | undefined; after: string }) {
  const host = <code className="wrap">{after}</code>
  if (before === undefined) return <>saved the webhook destination at {host}</>
  if (before === after) return <>saved the webhook destination again, at {host}</>
  return (
    <>
      changed the webhook destination from <code className="wrap">{before}</code> to {host}
    </>
  )
}

function PersonChange({
  name,
  detail: { before, after, through },
}: {
  name: string
  detail: ActivityEntry['detail']
}) {
  const person = <Person name={name} />
  if (through === 'openid')
    return (
      <>
        signed in with the OpenID provider, which changed the role from {roleIn(before)} to {roleIn(after)}
      </>
    )
  if (textIn(before, 'role') === textIn(after, 'role'))
    return textIn(after, 'status') === 'suspended' ? (
      <>suspended {person}</>
    ) : (
      <>ended the suspension of {person}</>
    )
  if (textIn(after, 'role') === 'owner') return <>made {person} the owner</>
  return (
    <>
      changed {person} from {roleIn(before)} to {roleIn(after)}
    </>
  )
}

function textIn(detail: unknown, member: string): string | undefined {
  const value =
    typeof detail === 'object' && detail !== null && Object.entries(detail).find(([key]) => key === member)
  return value && typeof value[1] === 'string' ? value[1] : undefined
}

/** "Admin, suspended". */
function roleIn(detail: unknown): string {
  const role = textIn(detail, 'role')
  if (role !== 'owner' && role !== 'admin' && role !== 'member') return role ?? 'Member'
  return roleName({ role, status: textIn(detail, 'status') === 'suspended' ? 'suspended' : 'active' })
}
