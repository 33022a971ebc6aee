import type { Person } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { MoreIcon } from '../ui/icons.tsx'
import { Menu, MenuItem, MenuLine } from '../ui/Menu.tsx'
import { StatusText } from '../ui/StatusText.tsx'
import type { Change } from './ChangePerson.tsx'
import { roleWords } from './roles.ts'

export interface PeopleActions {
  onChange: (person: Person, change: Change) => void
  onHandOver: (to: Person) => void
  /** undefined: no one is invited here. */
  onInviteAgain: ((person: Person) => void) | undefined
}

export interface PeopleTableProps {
  people: readonly Person[]
  /** The signed-in person's user id. */
  me: string
  /** undefined: for reading only. */
  actions: PeopleActions | undefined
}

export function PeopleTable({ people, me, actions }: PeopleTableProps) {
  return (
    <table className="table table-stacked [&_:is(th,td)]:align-middle">
      <caption className="off-screen">People</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Email address</th>
          <th scope="col">Role</th>
          <th scope="col">Status</th>
          {actions && (
            <th scope="col">
              <span className="off-screen">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {people.map((person) => (
          <tr key={person.userId}>
            <th scope="row" className="strong">
              <bdi>{person.name}</bdi>
            </th>
            <td className="wrap text-ink-2 max-desk:w-full max-desk:pe-11">{person.email}</td>
            <td>
              {roleWords(person.role).name}
              {person.userId === me && <span className="quiet"> (you)</span>}
            </td>
            <td>
              <PersonStatus person={person} />
            </td>
            {actions && (
              <td className="row-actions">
                {person.role !== 'owner' && <Actions person={person} {...actions} />}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function PersonStatus({ person: { status, expiresAt } }: { person: Person }) {
  if (status === 'active') return <StatusText tone="good">Active</StatusText>
  if (status === 'suspended') return <StatusText tone="warn">Suspended</StatusText>
  return (
    <StatusText tone="idle">
      <span>
        <span className="text-ink-2">Invited</span>
        {expiresAt && (
          <>
            , expires <Ago at={expiresAt} />
          </>
        )}
      </span>
    </StatusText>
  )
}

function Actions({ person, onChange, onHandOver, onInviteAgain }: { person: Person } & PeopleActions) {
  const { status, role } = person
  const invited = status === 'invited'
  return (
    <Menu
      trigger={
        <button type="button" className="icon-button" aria-label={`Actions for ${person.name}`}>
          <MoreIcon />
        </button>
      }
    >
      {invited && onInviteAgain && (
        <MenuItem onSelect={() => onInviteAgain(person)}>Create a new link</MenuItem>
      )}
      {!invited && role === 'member' && (
        <MenuItem onSelect={() => onChange(person, 'make admin')}>Make an admin</MenuItem>
      )}
      {!invited && role === 'admin' && (
        <MenuItem onSelect={() => onChange(person, 'make member')}>Make a member</MenuItem>
      )}
      {status === 'active' && <MenuItem onSelect={() => onChange(person, 'suspend')}>Suspend</MenuItem>}
      {status === 'suspended' && (
        <MenuItem onSelect={() => onChange(person, 'restore')}>Lift the suspension</MenuItem>
      )}
      {status === 'active' && <MenuItem onSelect={() => onHandOver(person)}>Hand over ownership</MenuItem>}
      {(!invited || onInviteAgain) && <MenuLine />}
      <MenuItem danger onSelect={() => onChange(person, invited ? 'withdraw' : 'remove')}>
        {invited ? 'Withdraw the invitation' : 'Remove'}
      </MenuItem>
    </Menu>
  )
}
