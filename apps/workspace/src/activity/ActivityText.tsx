import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import { roleName, SCREENS, useCompany } from '../api/company.ts'
import type { ActivityEntry } from '../api/contract.ts'
import { onDay } from '../api/time.ts'

/** What happened, as the rest of a sentence that begins with who did it. */
export function ActivityText({ entry }: { entry: ActivityEntry }): ReactNode {
  const { to } = useCompany()
  const { subject, detail } = entry
  const { before, after } = detail
  const armedAt = textIn(detail, 'armedAt')
  const name = textIn(after, 'name') ?? textIn(detail, 'name')
  const id = <code className="wrap">{subject}</code>
  const parts: Record<string, ReactNode> = {
    subject: id,
    client: <Link href={`${to(SCREENS.clients)}/${subject}`}>{name ? <bdi>{name}</bdi> : id}</Link>,
    person: <bdi className="strong">{name ?? subject}</bdi>,
    nameBefore: <bdi>{textIn(before, 'name')}</bdi>,
    hostBefore: <code className="wrap">{textIn(before, 'host')}</code>,
    role: roleIn(detail),
    roleBefore: roleIn(before),
    roleAfter: roleIn(after),
    source: <bdi className="wrap">{textIn(detail, 'source')}</bdi>,
    file: <bdi className="wrap">{textIn(detail, 'file')}</bdi>,
    days: detail.quietDays === 1 ? '1 day' : `${detail.quietDays} days`,
    armedBy: <bdi>{textIn(detail.armedBy, 'name')}</bdi>,
    armedAt: armedAt && onDay(new Date(armedAt)),
  }
  return sentenceOf(entry)
    .split(/\{(\w+)\}/)
    .map((text, index) => (index % 2 === 0 ? text : <Fragment key={text}>{parts[text]}</Fragment>))
}

const SENTENCES: Readonly<Record<string, string>> = {
  'client.created': 'created the client {client}',
  'client.renamed': 'renamed the client {nameBefore} to {client}',
  'client.name_erased': 'erased the names that the client {client} had',
  'client.revoked': 'revoked the client {client}',
  'client.secret_found': 'marked the secret of the client {client} as found',
  'client.revocation_armed': 'armed the revocation of the client {client} after {days} without use',
  'client.revocation_disarmed': 'disarmed the revocation of the client {client}',
  'company.created': 'created the company',
  'person.added': 'added {person} as {role}',
  'person.invited': 'invited {person} as {role}',
  'person.linked': 'linked this account to the OpenID provider',
  'person.unlinked': 'unlinked the account of {person} from the OpenID provider',
  'person.password_reset': 'set a new password for {person} and ended all sessions of that account',
  'person.removed': 'removed {person}, whose role was {role}',
  'person.erased': 'erased what was stored about {person}',
  'address.claimed':
    'ended the sessions of {person}, because someone accepted another company’s invitation to the same address with another password',
  'invitation.withdrawn': 'withdrew the invitation of {person} as {role}',
  'analytics.imported': 'imported reported events from the file {file}',
}

/** Why the service disarmed a revocation. */
const DISARMED_BECAUSE: Readonly<Record<string, string>> = {
  person_left: 'because the person who armed it may no longer manage clients',
  replacement_revoked: 'because its replacement was revoked',
}

/** The sentence of an entry, with the names of its parts in braces. It has nothing in it that a person wrote. */
function sentenceOf({ action, subject, detail }: ActivityEntry): string {
  const { before, after, through } = detail
  const byProvider = through === 'openid'
  if (action === 'person.joined')
    return byProvider
      ? 'joined as {role} by signing in with the OpenID provider'
      : 'accepted the invitation and joined as {role}'
  if (action === 'callback.saved') {
    const host = textIn(before, 'host')
    if (host === undefined) return 'saved the callback URL at {subject}'
    return host === subject
      ? 'saved the callback URL, which is still at {subject}'
      : 'changed the callback URL from {hostBefore} to {subject}'
  }
  if (action === 'client.secret_found' && textIn(detail, 'source') !== undefined)
    return `${SENTENCES[action]} at {source}`
  if (action === 'client.revoked' && textIn(detail, 'reason') === 'secret_found')
    return `${SENTENCES[action]}, because its secret was found`
  if (action === 'client.revoked' && textIn(detail, 'reason') === 'armed')
    return `${SENTENCES[action]} after {days} without use, as {armedBy} had armed it {armedAt}`
  const why = DISARMED_BECAUSE[textIn(detail, 'reason') ?? '']
  if (action === 'client.revocation_disarmed' && why) return `${SENTENCES[action]}, ${why}`
  if (action !== 'person.changed') return SENTENCES[action] ?? `${action} {subject}`
  if (byProvider)
    return 'signed in with the OpenID provider, which changed the role from {roleBefore} to {roleAfter}'
  if (textIn(before, 'role') === textIn(after, 'role'))
    return textIn(after, 'status') === 'suspended' ? 'suspended {person}' : 'ended the suspension of {person}'
  if (textIn(after, 'role') === 'owner') return 'made {person} the owner'
  return 'changed {person} from {roleBefore} to {roleAfter}'
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
