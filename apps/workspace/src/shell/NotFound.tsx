import { Link } from 'wouter'
import { SCREENS, useCompany } from '../api/company.ts'
import { Companies } from './ChooseCompany.tsx'
import { Page } from './Page.tsx'

export function NotFound() {
  const { to } = useCompany()
  return (
    <Page title="Page not found" lede="The address may be mistyped, or the page no longer exists.">
      <p>
        <Link href={to(SCREENS.clients)}>Go to OAuth2 Clients</Link>
      </p>
    </Page>
  )
}

/** The same whether or not the company exists. */
export const UnknownCompany = () => (
  <Companies
    title="Not one of your companies"
    note="You are not a member of the company in this address. These are yours:"
  />
)
