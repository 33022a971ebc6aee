import type { ReactNode } from 'react'
import { ROLE_NAMES, roleName } from '../api/company.ts'
import type { ActivityEntry, Role } from '../api/contract.ts'
import { say } from '../ui/say.ts'

/** What sentences are made of. */
interface Parts {
  subject: ReactNode
  client: ReactNode
  person: ReactNode
  hostBefore: ReactNode
  detail: Texts
  before: Texts
  after: Texts
  replaced: Texts
}

type Texts = Readonly<Record<string, string | undefined>>

const [ADDED, REMOVED, OTHER] = ['border-good', 'border-bad', 'border-line-strong']

/** By action: its name in the filter, its mark, and the rest of a sentence that begins with who did it. */
export const ACTIONS = {
  'client.created': [
    'Client created',
    ADDED,
    ({ client, replaced }) =>
      say`created the client ${client}${replaced.name && say`, which replaces ${replaced.name}`}`,
  ],
  'client.renamed': [
    'Client renamed',
    OTHER,
    ({ before, client }) => say`renamed the client ${before.name} to ${client}`,
  ],
  'client.revoked': [
    'Client revoked',
    REMOVED,
    ({ client, detail }) =>
      say`revoked the client ${client}${detail.reason === 'secret_found' && say`, because its secret was found`}`,
  ],
  'callback.saved': ['Callback URL saved', OTHER, callbackSaved],
  'workload_issuer.keys_replaced': [
    'Issuer keys replaced',
    OTHER,
    ({ subject }) => say`replaced the keys of the issuer ${subject}`,
  ],
  'client.secret_found': [
    'Client secret found',
    REMOVED,
    ({ client, detail: { source } }) =>
      say`marked the secret of the client ${client} as found${source && say` at ${source}`}`,
  ],
  'company.created': ['Company created', ADDED, () => 'created the company'],
  'person.added': ['Person added', OTHER, ({ person, detail }) => say`added ${person}${asRole(detail)}`],
  'person.invited': [
    'Person invited',
    ADDED,
    ({ person, detail }) => say`invited ${person}${asRole(detail)}`,
  ],
  'person.joined': ['Person joined', ADDED, ({ detail }) => personJoined(detail)],
  'person.changed': ['Role or status changed', OTHER, personChanged],
  'person.linked': ['Account linked', OTHER, () => 'linked this account to the OpenID provider'],
  'person.unlinked': [
    'Account unlinked',
    OTHER,
    ({ person }) => say`unlinked the account of ${person} from the OpenID provider`,
  ],
  'person.password_reset': [
    'Password reset by an operator',
    REMOVED,
    ({ person }) => say`set a new password for ${person} and ended all sessions of that account`,
  ],
  'person.removed': [
    'Person removed',
    REMOVED,
    ({ person, detail }) => say`removed ${person}${inBrackets(detail)}`,
  ],
  'person.erased': ['Person erased', OTHER, ({ person }) => say`erased what was stored about ${person}`],
  'address.claimed': [
    'Address used elsewhere',
    OTHER,
    ({ person }) =>
      say`ended the sessions of ${person}, because someone accepted another company’s invitation to the same address with another password`,
  ],
  'invitation.withdrawn': [
    'Invitation withdrawn',
    REMOVED,
    ({ person, detail }) => say`withdrew the invitation for ${person}${inBrackets(detail)}`,
  ],
  'analytics.imported': [
    'Events imported',
    OTHER,
    ({ detail }) => say`imported reported events from the file ${detail.file}`,
  ],
} as const satisfies Record<
  ActivityEntry['action'],
  readonly [kind: string, mark: string, sentence: (parts: Parts) => ReactNode]
>

function callbackSaved({ before, after, subject, hostBefore }: Parts): ReactNode {
  if (before.host === undefined) return say`saved the callback URL at ${subject}`
  return before.host === after.host
    ? say`saved the callback URL, which is still at ${subject}`
    : say`changed the callback URL from ${hostBefore} to ${subject}`
}

const personJoined = (detail: Texts): ReactNode =>
  detail.through === 'openid'
    ? say`joined${asRole(detail)} by signing in with the OpenID provider`
    : say`accepted the invitation and joined${asRole(detail)}`

function personChanged({ detail, before, after, person }: Parts): ReactNode {
  const [from, to] = [roleText(before), roleText(after)]
  if (detail.through === 'openid')
    return say`signed in with the OpenID provider, which changed the role from ${from} to ${to}`
  if (after.role === undefined) return say`changed the role or status of ${person}`
  if (before.role === after.role)
    return after.status === 'suspended' ? say`suspended ${person}` : say`ended the suspension of ${person}`
  return after.role === 'owner' ? say`made ${person} the owner` : say`changed ${person} from ${from} to ${to}`
}

// The details of an erased person are gone.
const asRole = (detail: Texts): ReactNode => detail.role && say` as ${roleText(detail)}`
const inBrackets = (detail: Texts): ReactNode => detail.role && say` (${roleText(detail)})`

/** "Admin, suspended". */
function roleText({ role = '', status }: Texts): string {
  if (!Object.hasOwn(ROLE_NAMES, role)) return role
  return roleName({ role: role as Role, status: status === 'suspended' ? 'suspended' : 'active' })
}

/** Returns the texts of a state before or after a change. */
export const textsIn = (state: unknown): Texts =>
  Object.fromEntries(Object.entries(state ?? {}).filter(([, value]) => typeof value === 'string'))
