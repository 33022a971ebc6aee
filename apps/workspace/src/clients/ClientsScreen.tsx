import { useEffect, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useAllClients } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import { draftOf } from '../session/drafts.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { PlusIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { ClientSearch } from './ClientSearch.tsx'
import { ClientsTable, ClientsTableSkeleton } from './ClientsTable.tsx'
import { CreateClient } from './CreateClient.tsx'
import { creationDraft } from './creation.ts'
import { SOON_DAYS } from './expiry.ts'
import { FirstClient } from './FirstClient.tsx'
import { findClients, searchFor, VIEWS, type Wanted, wantedBy } from './find-clients.ts'

export function ClientsScreen() {
  const company = useCompany()
  const [creating, setCreating] = useCreating(company.vendorId)
  const [, navigate] = useLocation()
  return (
    <Page
      title="OAuth2 Clients"
      section="Integrations"
      lede="Each client lets one of your systems call the API without a person, within its scopes."
      wide
      actions={
        <>
          <Button onClick={() => navigate(company.to(SCREENS.explain))}>Explain a refusal</Button>
          <Button variant="primary" icon={<PlusIcon />} onClick={() => setCreating(true)}>
            Create client
          </Button>
        </>
      }
    >
      <ClientList onCreate={() => setCreating(true)} />
      {creating && <CreateClient onClose={() => setCreating(false)} />}
    </Page>
  )
}

/** The dialog opens by `?new` in the address, and reopens with input that an ended session interrupted. */
function useCreating(vendorId: string): [boolean, (creating: boolean) => void] {
  const [search, setSearch] = useSearchParams()
  const [creating, setCreating] = useState(() => draftOf(creationDraft(vendorId)) !== undefined)
  const asked = search.has('new')
  useEffect(() => {
    if (!asked) return
    setCreating(true)
    setSearch({}, { replace: true })
  }, [asked, setSearch])
  return [creating, setCreating]
}

function ClientList({ onCreate }: { onCreate: () => void }) {
  const [search, setSearch] = useSearchParams()
  const wanted = wantedBy(search)
  const want = (part: Partial<Wanted>) => setSearch(searchFor({ ...wanted, ...part }), { replace: true })
  const query = useAllClients()
  return (
    <Loaded query={query} skeleton={<ClientsTableSkeleton />}>
      {(all) => {
        if (all.length === 0) return <FirstClient onCreate={onCreate} />
        const found = findClients(all, wanted)
        return (
          <>
            <ClientSearch wanted={wanted} counts={found.counts} complete={query.complete} onWant={want} />
            {found.clients.length > 0 ? (
              <ClientsTable
                key={wanted.view}
                clients={found.clients}
                find={(clientId) => all.find((client) => client.clientId === clientId)}
                wanted={wanted}
                onWant={want}
              />
            ) : (
              <Nothing wanted={wanted} counts={found.counts} onWant={want} />
            )}
          </>
        )
      }}
    </Loaded>
  )
}

interface NothingProps {
  wanted: Wanted
  counts: Record<Wanted['view'], number>
  onWant: (part: Partial<Wanted>) => void
}

/** Where to look instead. */
function Nothing({ wanted: { view, typed }, counts, onWant }: NothingProps) {
  const shown = VIEWS.find((each) => each.view === view)?.label.toLowerCase()
  return (
    <div className="empty-line">
      <p>
        {typed ? (
          <>
            No {view === 'all' || view === 'expiring' ? '' : `${shown} `}client
            {view === 'expiring' && ` that expires within ${SOON_DAYS} days`} matches “<bdi>{typed}</bdi>”.
          </>
        ) : view === 'unused' ? (
          'Every active client has been used.'
        ) : view === 'expiring' ? (
          `No client expires within ${SOON_DAYS} days.`
        ) : (
          `No client is ${shown}.`
        )}
      </p>
      <p className="page-actions">
        {view !== 'all' && counts.all > 0 && (
          <Button onClick={() => onWant({ view: 'all' })}>Show {counts.all} in all clients</Button>
        )}
        {typed && <Button onClick={() => onWant({ typed: '' })}>Clear the search</Button>}
      </p>
    </div>
  )
}
