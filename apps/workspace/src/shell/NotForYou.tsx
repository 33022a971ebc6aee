import type { ReactNode } from 'react'
import { LockIcon } from '../ui/icons.tsx'
import { useCompany, whyNot } from './company.ts'

/** In place of what this person's role does not show. */
export function NotForYou({ what, children }: { what: string; children: ReactNode }) {
  const company = useCompany()
  return (
    <section className="not-for-you" aria-label={`${what}: not for your role`}>
      <LockIcon />
      <div>
        <p className="strong">{whyNot(company)}</p>
        <p className="quiet">{children}</p>
        <p className="quiet">
          {company.status === 'suspended'
            ? 'The operator of this service can lift the suspension.'
            : 'If you need this, ask the operator of this service for the role Admin.'}
        </p>
      </div>
    </section>
  )
}
