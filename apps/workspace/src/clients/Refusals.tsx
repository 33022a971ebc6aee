import { Link } from 'wouter'
import type { Refusal } from '../api/contract.ts'
import { dateTime } from '../api/time.ts'
import { REFUSALS_SHOWN, useRefusals } from '../api/usage.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { Moment } from '../ui/Ago.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { docsOfRefusal } from '../ui/docs.ts'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import './usage.css'

/** Which of a client's requests were refused in the last 24 hours, why, and what to do about it. */
export function Refusals({ clientId }: { clientId: string }) {
  const { vendorId, to } = useCompany()
  const query = useRefusals(vendorId, clientId)
  return (
    <section className="section" aria-labelledby="refusals-title">
      <h2 id="refusals-title">Refused requests</h2>
      <Loaded query={query} skeleton={<Skeleton lines={3} />}>
        {({ refusals, nextCursor }) =>
          refusals.length === 0 ? (
            <p className="quiet">None in the last 24 hours.</p>
          ) : (
            <>
              <ul className="lined refusals">
                {refusals.map((refusal) => (
                  <RefusedRequest key={refusal.requestId} refusal={refusal} />
                ))}
              </ul>
              <p className="small">
                <Link href={to(SCREENS.explain)}>Explain another request by its id</Link>
              </p>
              {nextCursor && <p className="small quiet">The newest {REFUSALS_SHOWN} of the last 24 hours.</p>}
            </>
          )
        }
      </Loaded>
    </section>
  )
}

export interface RefusedRequestProps {
  refusal: Refusal
  /** Left out where it goes without saying. */
  client?: { name: string; href: string }
}

export function RefusedRequest({ refusal, client }: RefusedRequestProps) {
  const { requestId, at, route, reason, advice } = refusal
  return (
    <li>
      <p>
        <span className="strong">{withLocalTimes(reason)}</span> {advice}
      </p>
      <p className="small quiet">
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
      </p>
      <p className="small refusal-facts">
        <code>{route}</code>
        <RefusalCode refusal={refusal} />
        <span className="with-copy">
          <span className="quiet">Request</span> <code>{requestId}</code>
          <CopyButton text={requestId} what={`request id ${requestId}`} />
        </span>
      </p>
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
export const withLocalTimes = (sentence: string): string =>
  sentence.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => dateTime(new Date(at)))
