import { Link } from 'wouter'
import { Companies } from './ChooseCompany.tsx'
import { SCREENS, useCompany } from './company.ts'
import { Page } from './Page.tsx'

export function NotFound() {
  const { to } = useCompany()
  return (
    <Page title="There is no such page" lede="The address may be mistyped, or what it named is gone.">
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
    note="The address names a company that you are not a member of. These are yours."
  />
)
