import type { ReactNode } from 'react'
import { ROLE_NAMES, useCompany } from '../api/company.ts'
import type { Person } from '../api/contract.ts'
import { usePeople } from '../api/resources.ts'
import { useSignedIn } from '../api/session.ts'
import { useSignInMethods } from '../session/openid.ts'
import { Page } from '../shell/Page.tsx'
import { Ago } from '../ui/Ago.tsx'
import { Button, IconButton } from '../ui/Button.tsx'
import { useDraft } from '../ui/draft.ts'
import { MoreIcon, PlusIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Menu, MenuItem, MenuLine } from '../ui/Menu.tsx'
import { useTimed } from '../ui/now.ts'
import { Skeleton } from '../ui/Skeleton.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import { say } from '../ui/say.ts'
import { CHANGES, type Change, ChangePerson } from './ChangePerson.tsx'
import { HandOver } from './HandOver.tsx'
import { InvitePerson } from './InvitePerson.tsx'

/** What the owner is about to do. */
type OpenDialog =
  | { name: 'invite'; again?: Person }
  | { name: 'hand over'; to: Person }
  | { name: 'change'; person: Person; change: Change }

export default function PeopleScreen() {
  const { role, ownerName } = useCompany()
  const { user } = useSignedIn()
  const people = usePeople()
  const [dialog, setDialog] = useDraft<OpenDialog | undefined>('dialog', undefined)
  const close = () => setDialog(undefined)
  const owns = role === 'owner'
  // Not to open again once the company is handed back.
  if (dialog && !owns) close()
  const signIn = useSignInMethods()
  // The sign-in methods decide what is above the list: both are shown at once, so that nothing jumps.
  const query = owns && !signIn ? { ...people, data: undefined } : people
  const methods = people.data || people.error ? signIn : undefined
  const invites = owns && methods?.builtInAccounts === true
  const mails = methods?.mail === true
  return (
    <Page
      title="People"
      section="Company"
      lede={
        owns && methods?.builtInAccounts === false
          ? say`Who belongs to your company. New people join by signing in with ${methods.openid?.name}.`
          : owns
            ? 'Who belongs to your company.'
            : say`Who belongs to your company. Only its owner, ${ownerName}, can change this.`
      }
      actions={
        invites && (
          <Button variant="primary" icon={<PlusIcon />} onClick={() => setDialog({ name: 'invite' })}>
            Invite a person
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton lines={6} />}>
        {(page) => (
          <PeopleTable
            people={page}
            me={user.userId}
            menuOf={owns && ((person) => <PersonMenu person={person} invites={invites} onOpen={setDialog} />)}
          />
        )}
      </Loaded>
      {invites && dialog?.name === 'invite' && (
        <InvitePerson again={dialog.again} mails={mails} onClose={close} />
      )}
      {owns && dialog?.name === 'change' && (
        <ChangePerson person={dialog.person} change={dialog.change} onClose={close} />
      )}
      {owns && dialog?.name === 'hand over' && <HandOver to={dialog.to} onClose={close} />}
    </Page>
  )
}

interface PeopleTableProps {
  people: readonly Person[]
  /** The signed-in person's user id. */
  me: string
  /** What the reader may do with a person. */
  menuOf: false | ((person: Person) => ReactNode)
}

function PeopleTable({ people, me, menuOf }: PeopleTableProps) {
  return (
    <table className="table table-stacked">
      <caption className="sr-only">People</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Email address</th>
          <th scope="col">Role</th>
          <th scope="col">Status</th>
          {menuOf && (
            <th scope="col">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <tr key={person.userId}>
            <th scope="row" className="align-middle font-strong">
              <bdi>{person.name}</bdi>
            </th>
            <td className="align-middle wrap-anywhere text-ink-2 max-desk:w-full max-desk:pe-11">
              {person.email}
            </td>
            <td className="align-middle">
              {ROLE_NAMES[person.role]}
              {person.userId === me && <span className="text-muted"> (you)</span>}
            </td>
            <td className="align-middle">
              <PersonStatus person={person} />
            </td>
            {menuOf && (
              <td className="row-actions align-middle">{person.role !== 'owner' && menuOf(person)}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function PersonStatus({ person }: { person: Person }) {
  const { status, expiresAt, mail, mailedAt } = person
  const isExpired = useTimed((now) => expiresAt !== null && Date.parse(expiresAt) <= now.getTime())
  if (status === 'active') return <StatusText tone="good">Active</StatusText>
  if (status === 'suspended') return <StatusText tone="warn">Suspended</StatusText>
  if (isExpired)
    return (
      <StatusText tone="warn">
        <span>Invitation expired {expiresAt && <Ago at={expiresAt} />}</span>
      </StatusText>
    )
  if (mail === 'failed') return <StatusText tone="warn">The invitation could not be emailed</StatusText>
  return (
    <StatusText tone="idle">
      <span>
        <span className="text-ink-2">Invited</span>
        {mail === 'waiting' && ', email on its way'}
        {mailedAt && say`, emailed ${<Ago at={mailedAt} />}`}
        {expiresAt && say`, expires ${<Ago at={expiresAt} />}`}
      </span>
    </StatusText>
  )
}

const changesOf = ({ role, status }: Person): Change[] =>
  status === 'invited'
    ? []
    : [
        ...(['admin', 'viewer', 'member'] as const).filter((other) => other !== role),
        status === 'active' ? 'suspend' : 'restore',
      ]

interface PersonMenuProps {
  person: Person
  /** Whether people are invited here. */
  invites: boolean
  onOpen: (dialog: OpenDialog) => void
}

function PersonMenu({ person, invites, onOpen }: PersonMenuProps) {
  const { status } = person
  const invited = status === 'invited'
  const ending = invited ? 'withdraw' : 'remove'
  return (
    <Menu
      trigger={
        <IconButton aria-label={`Actions for ${person.name}`}>
          <MoreIcon />
        </IconButton>
      }
    >
      {invited && invites && (
        <MenuItem onSelect={() => onOpen({ name: 'invite', again: person })}>Invite again</MenuItem>
      )}
      {changesOf(person).map((change) => (
        <MenuItem key={change} onSelect={() => onOpen({ name: 'change', person, change })}>
          {CHANGES[change].button}
        </MenuItem>
      ))}
      {status === 'active' && (
        <MenuItem onSelect={() => onOpen({ name: 'hand over', to: person })}>Hand over ownership</MenuItem>
      )}
      {(!invited || invites) && <MenuLine />}
      <MenuItem danger onSelect={() => onOpen({ name: 'change', person, change: ending })}>
        {CHANGES[ending].button}
      </MenuItem>
    </Menu>
  )
}
