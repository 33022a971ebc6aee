import { useLocation } from 'wouter'
import { roleName, useCompany } from '../api/company.ts'
import { pathTo, screenAt } from '../api/screens.ts'
import { useSignedIn } from '../api/session.ts'
import { ChevronIcon } from '../ui/icons.tsx'
import { Menu, MenuChoice, MenuLabel } from '../ui/Menu.tsx'

const PLACE =
  'flex min-w-0 flex-1 items-center justify-between gap-2 rounded-md border py-1 text-start desk:w-full desk:flex-none desk:px-3 desk:py-2.25'

/** The current company, as a menu if the person has several. */
export function CompanyMenu() {
  const company = useCompany()
  const { companies } = useSignedIn()
  const [location, navigate] = useLocation()
  const name = (
    <span className="grid min-w-0 leading-snug">
      <bdi className="truncate font-strong">{company.name}</bdi>
      <span className="text-sm text-muted">{roleName(company)}</span>
    </span>
  )
  if (companies.length === 1)
    return <div className={`${PLACE} border-transparent px-0 desk:border-line`}>{name}</div>

  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className={`${PLACE} cursor-pointer border-control bg-sheet px-2.5 hover:border-ink`}
          title="Choose another company"
        >
          {name}
          <ChevronIcon />
        </button>
      }
    >
      <MenuLabel>Companies</MenuLabel>
      <MenuChoice
        value={company.vendorId}
        // The same screen of the other company, but not the same client.
        onChange={(vendorId) => navigate(pathTo(vendorId, screenAt(location) ?? 'clients'))}
        options={companies.map((company) => ({
          value: company.vendorId,
          label: (
            <>
              <bdi>{company.name}</bdi> <span className="text-muted text-sm">{roleName(company)}</span>
            </>
          ),
        }))}
      />
    </Menu>
  )
}
