import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { useRequests } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { ClientRequest } from '../api/contract.ts'
import { clock, dateOf, dateTime } from '../api/time.ts'
import { Time } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { FilterChoice } from '../ui/FilterChoice.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'

const SHOWN_AT_FIRST = 20
const OUTCOMES = [
  { value: 'all', label: 'All' },
  { value: 'granted', label: 'Granted' },
  { value: 'refused', label: 'Refused' },
] as const
type Outcome = (typeof OUTCOMES)[number]['value']
const SERVICES = { auth: 'Authorization server', api: 'API' } as const

export const isGranted = ({ status }: ClientRequest): boolean => status < 400

/** A client's latest requests at both services, granted and refused. */
export function Requests({ clientId }: { clientId: string }) {
  const query = useRequests(clientId)
  return (
    <section className="section" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests</h2>
      <Loaded query={query} skeleton={<Skeleton lines={6} />}>
        {({ requests, skipped }) => (
          <>
            {requests.length === 0 ? (
              <p className="quiet">None on record.</p>
            ) : (
              <Found requests={requests} busy={query.isFetching} onRefresh={query.refetch} />
            )}
            <p className="small quiet">
              The last 200, deleted 14 days after the newest. A request appears within seconds. Those that
              prove nothing about their sender, since authentication failed, stay for 24 hours. If the service
              loses its Redis, this list is lost.
              {skipped > 0 && ` ${skipped} more could not be read.`}
            </p>
          </>
        )}
      </Loaded>
    </section>
  )
}

interface FoundProps {
  requests: readonly ClientRequest[]
  busy: boolean
  onRefresh: () => unknown
}

function Found({ requests, busy, onRefresh }: FoundProps) {
  const [outcome, setOutcome] = useState<Outcome>('all')
  const [service, setService] = useState('')
  const [all, setAll] = useState(false)
  const atService = requests.filter((request) => service === '' || request.service === service)
  const found = {
    all: atService,
    granted: atService.filter(isGranted),
    refused: atService.filter((request) => !isGranted(request)),
  }
  const chosen = found[outcome]
  return (
    <>
      <search className="flex flex-wrap items-center gap-x-3.5 gap-y-2" aria-label="Filter the requests">
        <FilterChoice
          legend="Outcome"
          name="outcome"
          value={outcome}
          options={OUTCOMES.map((option) => ({ ...option, count: found[option.value].length }))}
          onChange={setOutcome}
        />
        <select
          className="input ms-auto w-auto"
          aria-label="Service"
          value={service}
          onChange={({ target: { value } }) => setService(value)}
        >
          <option value="">Both services</option>
          {Object.entries(SERVICES).map(([each, label]) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </select>
        <Button busy={busy} onClick={() => void onRefresh()}>
          Refresh
        </Button>
      </search>
      {chosen.length === 0 ? (
        <p className="quiet">None of them.</p>
      ) : (
        <Table requests={chosen.slice(0, all ? chosen.length : SHOWN_AT_FIRST)} />
      )}
      {!all && chosen.length > SHOWN_AT_FIRST && (
        <Button className="mt-5" onClick={() => setAll(true)}>
          Show all {chosen.length}
        </Button>
      )}
    </>
  )
}

const Table = ({ requests }: { requests: readonly ClientRequest[] }) => (
  <table className="table table-stacked text-[14px] [&_td:nth-child(n+4)]:wrap [&_td:nth-child(n+4)]:min-w-[13ch] [&_tbody_th]:whitespace-nowrap">
    <thead>
      <tr>
        <th scope="col">Time</th>
        <th scope="col">Answer</th>
        <th scope="col">Request</th>
        <th scope="col">From</th>
        <th scope="col">Request id</th>
      </tr>
    </thead>
    <tbody>
      {requests.map((request) => (
        <Row key={request.requestId} request={request} />
      ))}
    </tbody>
  </table>
)

function Row({ request }: { request: ClientRequest }) {
  const { requestId, at, route, status, address, code, explained } = request
  const { to } = useCompany()
  return (
    <tr>
      <th scope="row">
        <Time at={at} format={timeOf} />
      </th>
      <td className={isGranted(request) ? undefined : 'text-bad'}>
        {status} {code && <Breakable text={code} />}
      </td>
      <td>
        <code>
          <Breakable text={route} />
        </code>
      </td>
      <td>{address && <code>{address}</code>}</td>
      <td>
        {explained ? (
          <Link href={`${to(SCREENS.explain)}/${encodeURIComponent(requestId)}`}>
            <span className="off-screen">Explain </span>
            <code>{requestId}</code>
          </Link>
        ) : (
          <code>{requestId}</code>
        )}
      </td>
    </tr>
  )
}

/** A narrow column breaks it after / and _, in place of within a word. */
const Breakable = ({ text }: { text: string }) =>
  text.split(/(?<=[/_])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts without identity.
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ))

const timeOf = (at: Date): string => (dateOf(at) === dateOf(new Date()) ? clock(at) : dateTime(at))
