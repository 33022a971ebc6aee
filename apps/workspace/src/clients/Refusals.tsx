import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import { REFUSALS_READ, useRefusals } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { Refusal } from '../api/contract.ts'
import { onDay } from '../api/time.ts'
import { Moment, Time } from '../ui/Ago.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { docsOfRefusal } from '../ui/docs.ts'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { groupsOf, type RefusalGroup } from './refusal-groups.ts'

const ADDRESSES_SHOWN = 3

/** Which of a client's requests were refused in the last 24 hours, why, and what to do about it. */
export function Refusals({ clientId }: { clientId: string }) {
  const { to } = useCompany()
  const query = useRefusals(clientId)
  return (
    <section className="section" aria-labelledby="refusals-title">
      <h2 id="refusals-title">Refused requests</h2>
      <Loaded query={query} skeleton={<Skeleton lines={3} />}>
        {({ refusals, nextCursor }) =>
          refusals.length === 0 ? (
            <p className="quiet">None in the last 24 hours.</p>
          ) : (
            <>
              <ul className="lined">
                {groupsOf(refusals).map((group) => (
                  <Group key={group.newest.requestId} group={group} />
                ))}
              </ul>
              <p className="small">
                <Link href={to(SCREENS.explain)}>Explain another request by its id</Link>
              </p>
              {nextCursor && <p className="small quiet">The newest {REFUSALS_READ} of the last 24 hours.</p>}
            </>
          )
        }
      </Loaded>
    </section>
  )
}

function Group({ group: { newest, earlier, firstAt, addresses } }: { group: RefusalGroup }) {
  const times = earlier.length + 1
  const when = (
    <>
      {times === 1 ? (
        <Moment at={newest.at} />
      ) : (
        <>
          {times} times: first <Moment at={firstAt} />, last <Moment at={newest.at} />
        </>
      )}
      <From addresses={addresses} />
    </>
  )
  return (
    <RefusedRequest refusal={newest} when={when}>
      {times > 1 && (
        <details className="small">
          <summary className="mt-1 w-fit cursor-pointer">
            The {earlier.length === 1 ? 'earlier one' : `${earlier.length} earlier ones`}
            <span className="off-screen">: {newest.reason}</span>
          </summary>
          <ul className="my-1.5 max-h-[220px] overflow-y-auto ps-4">
            {earlier.map(({ requestId, at, route, address }) => (
              <li key={requestId} className="wrap py-[3px]">
                <Time at={at} /> <code>{route}</code> {address && <code>{address}</code>}{' '}
                <code>{requestId}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </RefusedRequest>
  )
}

function From({ addresses }: { addresses: readonly string[] }) {
  if (addresses.length === 0) return null
  const more = addresses.length - ADDRESSES_SHOWN
  return (
    <>
      , from{' '}
      {addresses.slice(0, ADDRESSES_SHOWN).map((address, index) => (
        <Fragment key={address}>
          {index > 0 && ', '}
          <code>{address}</code>
        </Fragment>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  )
}

export interface RefusedRequestProps {
  refusal: Refusal
  /** Default: when it was refused, and where it came from. */
  when?: ReactNode
  children?: ReactNode
  /** Left out where it goes without saying. */
  client?: { name: string; href: string }
}

export function RefusedRequest({ refusal, client, when, children }: RefusedRequestProps) {
  const { requestId, at, route, address, reason, advice } = refusal
  return (
    <li className="grid gap-1 py-3">
      <p>
        <span className="strong">{withTimes(reason)}</span> {advice}
      </p>
      <p className="small quiet">
        {when ?? (
          <>
            <Moment at={at} />
            {client && (
              <>
                {' '}
                by{' '}
                <Link href={client.href}>
                  <bdi>{client.name}</bdi>
                </Link>
              </>
            )}
            <From addresses={address === null ? [] : [address]} />
          </>
        )}
      </p>
      <p className="small flex flex-wrap items-center gap-x-5 gap-y-1 [&_code]:wrap">
        <code>{route}</code>
        <RefusalCode refusal={refusal} />
        <span className="with-copy">
          <span className="quiet">Request</span> <code>{requestId}</code>
          <CopyButton text={requestId} what={`request id ${requestId}`} />
        </span>
      </p>
      {children}
    </li>
  )
}

/** What was answered; leads to what it means. */
export const RefusalCode = ({ refusal }: { refusal: Refusal }) => (
  <DocsLink to={docsOfRefusal(refusal)}>
    <code>
      {refusal.status} {refusal.code}
    </code>
  </DocsLink>
)

/** The service's sentence, with its times as they are written elsewhere on the screens. */
export const withTimes = (sentence: string): string =>
  sentence.replaceAll(/at (\d{4}-\d\d-\d\dT[\d:.]+Z)/g, (_, at) => onDay(new Date(at)))
