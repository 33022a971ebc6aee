import { useLocation } from 'wouter'
import { useSignedIn } from '../api/session.ts'
import { ChevronIcon } from '../ui/icons.tsx'
import { Menu, MenuChoice, MenuLabel } from '../ui/Menu.tsx'
import { roleName, useCompany } from './company.ts'

/** The company whose screens these are; a menu when there are several to choose from. */
export function CompanyMenu() {
  const company = useCompany()
  const { companies } = useSignedIn()
  const [location, navigate] = useLocation()
  const name = (
    <span className="company-text">
      <bdi className="company-name">{company.name}</bdi>
      <span className="small quiet">{roleName(company)}</span>
    </span>
  )
  if (companies.length === 1) return <div className="company">{name}</div>

  // The same screen of the other company, but not the same client.
  const sameScreen = (vendorId: string) =>
    `/${encodeURIComponent(vendorId)}/${location
      .split('/')
      .slice(2, location.includes('/integrations/') ? 4 : 3)
      .join('/')}`
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="company company-button" title="Choose another company">
          {name}
          <ChevronIcon />
        </button>
      }
    >
      <MenuLabel>Companies</MenuLabel>
      <MenuChoice
        value={company.vendorId}
        onChange={(vendorId) => navigate(sameScreen(vendorId))}
        options={companies.map((each) => ({
          value: each.vendorId,
          label: (
            <>
              <bdi>{each.name}</bdi> <span className="quiet small">{roleName(each)}</span>
            </>
          ),
        }))}
      />
    </Menu>
  )
}
