import { useCompany } from '../api/company.ts'
import { LockIcon } from '../ui/icons.tsx'
import { Page } from './Page.tsx'

/** In place of every screen, for members and whoever is suspended: whom to ask, by name. */
export function NoAccess() {
  const { name, status, ownerName } = useCompany()
  const suspended = status === 'suspended'
  const owner = ownerName === null ? 'the owner' : <bdi className="strong">{ownerName}</bdi>
  return (
    <Page title={suspended ? 'You are suspended' : 'You have no access yet'}>
      <section className="flex max-w-[720px] gap-4 border-y border-line py-[22px]">
        <LockIcon />
        <div className="grid gap-4">
          {suspended ? (
            <p>
              Your membership in <bdi>{name}</bdi> is suspended, so you cannot see anything in it. Ask {owner}
              , who owns the company, to lift the suspension.
            </p>
          ) : (
            <p>
              Your role in <bdi>{name}</bdi> is Member. Only its owner and admins can see clients, the
              callback URL, analytics and activity. Ask {owner}, who owns the company, to make you an admin.
            </p>
          )}
          <p className="quiet">Then reload this page.</p>
        </div>
      </section>
    </Page>
  )
}
