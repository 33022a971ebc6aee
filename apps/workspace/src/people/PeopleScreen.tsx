import { useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { Person } from '../api/contract.ts'
import { usePeople } from '../api/resources.ts'
import { useSignedIn } from '../api/session.ts'
import { useSignInMethods } from '../session/openid.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { PlusIcon } from '../ui/icons.tsx'
import { Fact, Loaded, Skeleton } from '../ui/Loaded.tsx'
import { say } from '../ui/say.tsx'
import { type Change, ChangePerson } from './ChangePerson.tsx'
import { HandOver } from './HandOver.tsx'
import { InvitePerson } from './InvitePerson.tsx'
import { PeopleTable } from './PeopleTable.tsx'
import { ROLES } from './roles.ts'

/** What the owner is about to do. */
type OpenDialog =
  | { name: 'invite'; again?: Person }
  | { name: 'hand over'; to: Person }
  | { name: 'change'; person: Person; change: Change }

export default function PeopleScreen() {
  const { role, ownerName } = useCompany()
  const { user } = useSignedIn()
  const people = usePeople()
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = () => setDialog(undefined)
  const owns = role === 'owner'
  const signIn = useSignInMethods()
  // The sign-in methods decide what is above the list: both are shown at once, so that nothing jumps.
  const query = owns && !signIn ? { ...people, data: undefined } : people
  const methods = people.data || people.error ? signIn : undefined
  const invites = owns && methods?.builtInAccounts === true
  return (
    <Page
      title="People"
      section="Company"
      lede={
        owns && methods?.builtInAccounts === false
          ? say`Who belongs to your company, and what each may do. New people join by signing in with ${methods.openid?.name}.`
          : owns
            ? 'Who belongs to your company, and what each may do.'
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
        {(all) => (
          <>
            <PeopleTable
              people={all}
              me={user.userId}
              actions={
                owns
                  ? {
                      onChange: (person, change) => setDialog({ name: 'change', person, change }),
                      onHandOver: (to) => setDialog({ name: 'hand over', to }),
                      onInviteAgain: invites ? (again) => setDialog({ name: 'invite', again }) : undefined,
                    }
                  : undefined
              }
            />
            <RolesExplained />
          </>
        )}
      </Loaded>
      {invites && dialog?.name === 'invite' && <InvitePerson again={dialog.again} onClose={close} />}
      {owns && dialog?.name === 'change' && (
        <ChangePerson person={dialog.person} change={dialog.change} onClose={close} />
      )}
      {dialog?.name === 'hand over' && <HandOver to={dialog.to} onClose={close} />}
    </Page>
  )
}

const RolesExplained = () => (
  <section className="section" aria-labelledby="roles-title">
    <h2 id="roles-title">What each role may do</h2>
    <dl className="sheet">
      {ROLES.map(({ role, name, may }) => (
        <Fact key={role} name={name}>
          {may}
        </Fact>
      ))}
    </dl>
  </section>
)
