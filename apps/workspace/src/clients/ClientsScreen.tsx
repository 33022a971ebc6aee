import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type StatusFilter, useClients } from '../api/clients.ts'
import type { ClientPage } from '../api/contract.ts'
import { SCREENS, useCompany, whyNot } from '../shell/company.ts'
import { NotForYou } from '../shell/NotForYou.tsx'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { PlusIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { ClientsTable, ClientsTableSkeleton } from './ClientsTable.tsx'
import { CreateClient } from './CreateClient.tsx'
import { FirstClient } from './FirstClient.tsx'
import './clients.css'

const FILTERS: readonly { value: StatusFilter; label: string }[] = [
  { value: undefined, label: 'All' },
  { value: 'Active', label: 'Active' },
  { value: 'Revoked', label: 'Revoked' },
]

export function ClientsScreen() {
  const company = useCompany()
  const [creating, setCreating] = useState(false)
  return (
    <Page
      title="OAuth2 Clients"
      section="Integrations"
      lede="Each lets one system of yours read or change what its scopes say, by itself."
      actions={
        <Button
          variant="primary"
          icon={<PlusIcon />}
          unavailable={company.mayManage ? undefined : whyNot(company)}
          onClick={() => setCreating(true)}
        >
          Create client
        </Button>
      }
    >
      {company.mayManage ? (
        <ClientList onCreate={() => setCreating(true)} />
      ) : (
        <NotForYou what="OAuth2 clients">
          A client holds a secret that works without any person, so seeing, creating and revoking them is for
          those who answer for the company.
        </NotForYou>
      )}
      {creating && <CreateClient onClose={() => setCreating(false)} />}
    </Page>
  )
}

function ClientList({ onCreate }: { onCreate: () => void }) {
  const { vendorId } = useCompany()
  const [search] = useSearchParams()
  const status = FILTERS.find(({ value }) => value === search.get('status'))?.value
  const query = useClients(vendorId, status)
  return (
    <>
      <Filter status={status} />
      <Loaded query={query} skeleton={<ClientsTableSkeleton />}>
        {({ pages }) => {
          const clients = pages.flatMap((page: ClientPage) => page.clients)
          if (clients.length === 0 && !status) return <FirstClient onCreate={onCreate} />
          if (clients.length === 0) return <p className="empty-line">No client is {status}.</p>
          return (
            <>
              <ClientsTable clients={clients} />
              {query.hasNextPage && (
                <Button
                  className="more"
                  busy={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  Show more
                </Button>
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

function Filter({ status }: { status: StatusFilter }) {
  const { to } = useCompany()
  return (
    <nav className="filter" aria-label="Status">
      {FILTERS.map(({ value, label }) => (
        <Link
          key={label}
          className="filter-item"
          href={`${to(SCREENS.clients)}${value ? `?status=${value}` : ''}`}
          aria-current={status === value ? 'true' : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
