import type { ReactNode } from 'react'
import { useCompany } from '../api/company.ts'
import { LockIcon } from '../ui/icons.tsx'
import { OwnerName, Page } from './Page.tsx'

/** In place of a screen that this person may not see: whom to ask, by name. */
export function NoAccess() {
  const { name, role, status } = useCompany()
  const company = <bdi>{name}</bdi>
  if (status === 'suspended')
    return (
      <Explanation title="You are suspended" cure="lift the suspension">
        Your membership in {company} is suspended, so you cannot see anything in it.
      </Explanation>
    )
  if (role === 'viewer')
    return (
      <Explanation title="You have no access to this page" cure="make you an admin">
        Your role in {company} is Viewer. Only its owner and admins can see activity and people.
      </Explanation>
    )
  return (
    <Explanation title="You have no access yet" cure="make you a viewer or an admin">
      Your role in {company} is Member. Only its owner, admins and viewers can see clients, the callback URL
      and analytics.
    </Explanation>
  )
}

interface ExplanationProps {
  title: string
  /** What the owner can do. */
  cure: string
  children: ReactNode
}

const Explanation = ({ title, cure, children }: ExplanationProps) => (
  <Page title={title} bare>
    <section className="flex max-w-180 gap-4 border-y border-line py-5.5">
      <LockIcon />
      <div className="grid gap-4">
        <p>
          {children} Ask <OwnerName /> to {cure}.
        </p>
        <p className="text-muted">Then reload this page.</p>
      </div>
    </section>
  </Page>
)
