import { Link } from 'wouter'
import { causeWords } from '#shared/rules/refusal-causes.ts'
import { useClock, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Moment } from '../ui/Moment.tsx'
import { Notice } from '../ui/Notice.tsx'
import { useTimed } from '../ui/now.ts'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'

type Failing = NonNullable<OAuthClient['failing']>

const Since = ({ at }: { at: string }) => {
  const { since } = useClock()
  const text = useTimed((now) => since(new Date(at), now))
  return <Time at={at}>{text}</Time>
}

/** Marks a client in a list: "Failing since Sat 14:00: wrong secret". */
export const FailingMark = ({ failing }: { failing: Failing }) => (
  <span className={`font-strong ${failing.senderKnown ? 'text-bad' : 'text-warn'}`}>
    Failing since <Since at={failing.since} />: {causeWords(failing.cause)}
  </span>
)

/** What is refused, since when, until when the client worked, and where to see what changed then. */
export function FailingNotice({ client }: { client: OAuthClient }) {
  const { failing, failingKnown, lastUsedAt, usesMissingBefore, status } = client
  if (!failingKnown)
    return (
      <Notice tone="warn" title="Whether its requests are refused cannot be read right now" live>
        What is not known is shown as –.
      </Notice>
    )
  if (!failing || status === 'Revoked') return null
  return (
    <Notice
      tone={failing.senderKnown ? 'bad' : 'warn'}
      title={
        <>
          Nothing but refusals since <Since at={failing.since} />: {causeWords(failing.cause)}
          {failing.address && say`, from ${<code>{failing.address}</code>}`}
        </>
      }
    >
      <p>
        {lastUsedAt
          ? say`It last got a token on ${<Moment at={lastUsedAt} />}.`
          : usesMissingBefore
            ? 'No token of it is known.'
            : 'It has never been issued a token.'}
        {!failing.senderKnown &&
          ' Anyone who knows the client id can send such requests, so check whether the address is yours.'}
      </p>
      <p className="flex flex-wrap gap-x-5 gap-y-1">
        <a className="touch font-strong" href="#requests-title">
          What to change
        </a>
        <WhatChanged from={lastUsedAt ?? client.createdAt} to={failing.since} />
      </p>
    </Notice>
  )
}

/** Leads to everything that people did in the company between the last token and the first refusal. */
function WhatChanged({ from, to }: { from: string; to: string }) {
  const { clock, maySee, to: pathOf } = useCompany()
  const { isoDate } = clock
  const search = new URLSearchParams({ from: isoDate(new Date(from)), to: isoDate(new Date(to)) })
  if (!maySee('activity')) return null
  return (
    <Link className="touch font-strong" href={`${pathOf('activity')}?${search}`}>
      What changed in the company then
    </Link>
  )
}
