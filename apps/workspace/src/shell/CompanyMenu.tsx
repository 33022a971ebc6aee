import { useLocation } from 'wouter'
import { roleName, useCompany } from '../api/company.ts'
import { pathTo, screenAt } from '../api/screens.ts'
import { useSignedIn } from '../api/session.ts'
import { ChevronIcon } from '../ui/icons.tsx'
import { Menu, MenuChoice, MenuLabel } from '../ui/Menu.tsx'

const PLACE =
  'flex w-full items-center justify-between gap-2 rounded-md border px-3 py-[9px] text-start max-desk:w-auto max-desk:min-w-0 max-desk:flex-1 max-desk:py-1'

/** The current company, as a menu if the person has several. */
export function CompanyMenu() {
  const company = useCompany()
  const { companies } = useSignedIn()
  const [location, navigate] = useLocation()
  const name = (
    <span className="grid min-w-0 leading-[1.3]">
      <bdi className="truncate font-strong">{company.name}</bdi>
      <span className="text-sm text-muted">{roleName(company)}</span>
    </span>
  )
  if (companies.length === 1)
    return <div className={`${PLACE} border-line max-desk:border-transparent max-desk:px-0`}>{name}</div>

  // The same screen of the other company, but not the same client.
  const sameScreen = (vendorId: string) => pathTo(vendorId, screenAt(location) ?? 'clients')
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className={`${PLACE} cursor-pointer border-control bg-sheet hover:border-ink max-desk:px-2.5`}
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
        onChange={(vendorId) => navigate(sameScreen(vendorId))}
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
