import { type ReactNode, useState } from 'react'
import { useRequests } from '../api/clients.ts'
import { useClock } from '../api/company.ts'
import type { ClientRequest } from '../api/contract.ts'
import { CopyButton } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { docsOfRefusal } from '../ui/docs.ts'
import { FilterChoice } from '../ui/FilterChoice.tsx'
import { ChevronIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { More } from '../ui/More.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { Time } from '../ui/Time.tsx'

const WATCH_MS = 10_000
const SHOWN_AT_FIRST = 20
const OUTCOMES = [
  { value: 'all', label: 'All' },
  { value: 'granted', label: 'Granted' },
  { value: 'refused', label: 'Refused' },
] as const
type Outcome = (typeof OUTCOMES)[number]['value']

export const isGranted = ({ status }: Pick<ClientRequest, 'status'>): boolean => status < 400

/** A client's latest requests at both services, granted and refused. */
export function Requests({ clientId }: { clientId: string }) {
  const query = useRequests(clientId, WATCH_MS)
  return (
    <Section id="requests-title" title="Requests">
      <Loaded query={query} skeleton={<Skeleton lines={6} />}>
        {({ requests, skipped }) => (
          <>
            {requests.length === 0 ? (
              <p className="text-muted">None on record.</p>
            ) : (
              <Found requests={requests} />
            )}
            <p className="text-sm text-muted">
              {requests.length > 0 &&
                'At most the last 200 are kept and, for 24 hours, the last 50 that anyone could have sent, such as those with a wrong secret. Refusals are explained for 24 hours.'}
              {skipped > 0 && ` ${skipped} more could not be read.`}
            </p>
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Found({ requests }: { requests: readonly ClientRequest[] }) {
  const [outcome, setOutcome] = useState<Outcome>('all')
  const [showsAll, setShowsAll] = useState(false)
  const byOutcome = {
    all: requests,
    granted: requests.filter(isGranted),
    refused: requests.filter((request) => !isGranted(request)),
  }
  const rows = groupAlike(byOutcome[outcome])
  return (
    <>
      <search aria-label="Filter the requests">
        <FilterChoice
          legend="Outcome"
          name="outcome"
          value={outcome}
          options={OUTCOMES.map((option) => ({ ...option, count: byOutcome[option.value].length }))}
          onChange={setOutcome}
        />
      </search>
      {rows.length === 0 ? (
        <p className="text-muted">None of them.</p>
      ) : (
        <RequestTable rows={rows.slice(0, showsAll ? rows.length : SHOWN_AT_FIRST)} />
      )}
      <More
        query={{
          hasNextPage: !showsAll && rows.length > SHOWN_AT_FIRST,
          fetchNextPage: () => setShowsAll(true),
        }}
      >
        Show all
      </More>
    </>
  )
}

type Request = Pick<
  ClientRequest,
  'requestId' | 'at' | 'route' | 'status' | 'address' | 'code' | 'reason' | 'advice'
>

/** A request, or the newest of several refusals that are alike. */
interface RequestRow {
  key: string
  request: Request
  count: number
  firstAt: string
}

/** Puts refusals with the same answer, reason, route and address in one row. @param requests newest first. */
export function groupAlike(requests: readonly Request[]): RequestRow[] {
  const rows = new Map<string, RequestRow>()
  for (const request of requests) {
    const { requestId, at, status, code, reason, route, address } = request
    const key = isGranted(request) ? requestId : JSON.stringify([status, code, reason, route, address])
    const { request: newest, count } = rows.get(key) ?? { request, count: 0 }
    rows.set(key, { key, request: newest, count: count + 1, firstAt: at })
  }
  return [...rows.values()]
}

/**
 * Requests, newest first. Refusals that are alike are one row, which opens to the cause and the fix. If the
 * newest request was refused, it is already open.
 */
export const RequestTable = ({ rows }: { rows: readonly RequestRow[] }) => (
  <table className="table table-stacked text-md">
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
      {rows.map((row, index) => (
        <Row key={row.key} row={row} isNewest={index === 0} />
      ))}
    </tbody>
  </table>
)

function Row({ row, isNewest }: { row: RequestRow; isNewest: boolean }) {
  const { request, count, firstAt } = row
  const { requestId, at, route, address, reason } = request
  const [isOpen, setOpen] = useState(isNewest)
  const explains = isOpen && reason !== null
  const edge = explains ? 'border-b-0' : ''
  return (
    <>
      <tr>
        <th scope="row" className={`whitespace-nowrap ${edge}`}>
          <TimeOrDate at={at} />
        </th>
        <td className={edge}>
          <Answer request={request} isOpen={isOpen} onToggle={() => setOpen(!isOpen)} />
          {count > 1 && (
            <p className="text-sm text-muted">
              {count} times since <TimeOrDate at={firstAt} />
            </p>
          )}
        </td>
        <td className={edge}>
          <code>{route}</code>
        </td>
        <td className={`min-w-[13ch] wrap-anywhere ${edge}`}>{address && <code>{address}</code>}</td>
        <td className={`min-w-[13ch] wrap-anywhere ${edge}`}>
          <code className="desk:block desk:w-[9ch] desk:truncate" title={requestId}>
            {requestId}
          </code>
        </td>
      </tr>
      {explains && <Explanation request={request} reason={reason} />}
    </>
  )
}

function Answer({ request, isOpen, onToggle }: { request: Request; isOpen: boolean; onToggle: () => void }) {
  const { requestId, status, code, reason } = request
  const text = `${status} ${code ?? ''}`
  if (reason === null) return <span className={isGranted(request) ? undefined : 'text-bad'}>{text}</span>
  return (
    <button
      type="button"
      className="inline-flex min-h-11 cursor-pointer items-center gap-1 border-0 bg-transparent p-0 text-start text-bad hover:underline desk:min-h-6"
      aria-expanded={isOpen}
      onClick={onToggle}
    >
      <span>{text}</span>
      <span className={`inline-flex ${isOpen ? 'rotate-180' : ''}`}>
        <ChevronIcon />
      </span>
      <span className="sr-only">, why request {requestId} was refused</span>
    </button>
  )
}

function Explanation({ request, reason }: { request: Request; reason: string }) {
  const { requestId, route, code, advice } = request
  return (
    <tr>
      <td colSpan={5} className="w-full desk:w-auto desk:pt-0">
        <p className="max-w-prose text-pretty">
          <span className="font-strong">{withTimes(reason)}</span> {advice}
        </p>
        <p className="flex items-center gap-x-2">
          {code && (
            <DocsLink standalone to={docsOfRefusal({ route, code })}>
              What {code} means
            </DocsLink>
          )}
          <span className="-my-2">
            <CopyButton text={requestId} what={`request id ${requestId}`} />
          </span>
        </p>
      </td>
    </tr>
  )
}

/** The service's sentence, with its times as they are written elsewhere on the screens. */
const withTimes = (sentence: string): ReactNode =>
  sentence
    .split(/at (\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 0 ? part : <Time key={part} at={part} format="onDay" />))

function TimeOrDate({ at }: { at: string }) {
  const { isoDate } = useClock()
  return <Time at={at} format={isoDate(new Date(at)) === isoDate(new Date()) ? 'timeOfDay' : 'dateTime'} />
}
