import { Link, Redirect } from 'wouter'
import { roleName } from '../api/company.ts'
import { pathTo } from '../api/screens.ts'
import { signOut, useSignedIn } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { ForwardIcon } from '../ui/icons.tsx'
import { PlainPage } from '../ui/PlainPage.tsx'
import { say } from '../ui/say.ts'

/** The start: straight to the company when there is one, else the choice. */
export function ChooseCompany() {
  const { companies } = useSignedIn()
  const only = companies.length === 1 ? companies[0] : undefined
  if (only) return <Redirect to={pathTo(only.vendorId, 'clients')} replace />
  return <Companies title={companies.length ? 'Choose a company' : 'No company yet'} />
}

/** The same whether or not the company exists, unless the address cannot be a company's. */
export const UnknownCompany = ({ vendorId }: { vendorId: string }) =>
  vendorId.startsWith('ven_') ? (
    <Companies
      title="Not one of your companies"
      note="You are not a member of the company in this address. These are yours:"
    />
  ) : (
    <Companies title="Page not found" note="There is no page at this address. These are your companies:" />
  )

function Companies({ title, note }: { title: string; note?: string }) {
  const { user, companies } = useSignedIn()
  return (
    <PlainPage
      title={title}
      lede={note ?? say`Signed in as ${user.name}.`}
      action={
        <Button variant="quiet" onClick={() => void signOut()}>
          Sign out
        </Button>
      }
    >
      {companies.length === 0 && (
        <p>You do not belong to any company. Ask the owner of yours for an invitation.</p>
      )}
      <ul className="grid divide-y divide-line border-y border-line border-t-line-strong empty:hidden">
        {companies.map((company) => (
          <li key={company.vendorId}>
            <Link
              className="flex items-center justify-between gap-3 px-2 py-3.5 text-inherit no-underline hover:bg-mark-soft"
              href={pathTo(company.vendorId, 'clients')}
            >
              <span className="grid">
                <bdi className="font-strong">{company.name}</bdi>
                <span className="text-sm text-muted">{roleName(company)}</span>
              </span>
              <ForwardIcon />
            </Link>
          </li>
        ))}
      </ul>
    </PlainPage>
  )
}
