import type { ReactNode } from 'react'
import { useCompany } from '../api/company.ts'
import { LockIcon } from '../ui/icons.tsx'
import { OwnerName, Page } from './Page.tsx'

/** In place of a screen that this person may not see: whom to ask, by name. */
export function NoAccess() {
  const { name, role, status } = useCompany()
  const company = <bdi>{name}</bdi>
  if (role === 'viewer' && status === 'active')
    return (
      <Page title="You have no access to this page" bare>
        <Explanation>
          <p>
            Your role in {company} is Viewer. Only its owner and admins can see activity and people. Ask{' '}
            <OwnerName /> to make you an admin.
          </p>
        </Explanation>
      </Page>
    )
  const suspended = status === 'suspended'
  return (
    <Page title={suspended ? 'You are suspended' : 'You have no access yet'}>
      <Explanation>
        {suspended ? (
          <p>
            Your membership in {company} is suspended, so you cannot see anything in it. Ask <OwnerName /> to
            lift the suspension.
          </p>
        ) : (
          <p>
            Your role in {company} is Member. Only its owner, admins and viewers can see clients, the callback
            URL and analytics. Ask <OwnerName /> to make you a viewer or an admin.
          </p>
        )}
        <p className="text-muted">Then reload this page.</p>
      </Explanation>
    </Page>
  )
}

const Explanation = ({ children }: { children: ReactNode }) => (
  <section className="flex max-w-180 gap-4 border-y border-line py-5.5">
    <LockIcon />
    <div className="grid gap-4">{children}</div>
  </section>
)
