import { useRefusals, useRequests } from '../api/clients.ts'
import type { OAuthClient, Refusal } from '../api/contract.ts'
import { clock } from '../api/time.ts'
import { Time } from '../ui/Ago.tsx'
import { causeWords } from './causes.ts'
import { isGranted } from './Requests.tsx'

const SHOWN_MAX = 8
const TOKEN_ROUTE = 'POST /v1/oauth/token'

export interface AttemptsProps {
  client: OAuthClient
  refresh_ms: number
}

/** A new client's requests as they come; for a refused one, the one thing to change. Newest first. */
export function Attempts({ client, refresh_ms }: AttemptsProps) {
  const requests = useRequests(client.clientId, refresh_ms).data?.requests ?? []
  const refused = useRefusals(client.clientId, refresh_ms).data?.refusals ?? []
  const attempts = [
    ...requests.filter(isGranted).map((request) => ({ ...request, refusal: undefined })),
    ...refused.map((refusal) => ({ ...refusal, refusal })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1))
  return (
    <div role="log" aria-label="Attempts">
      <ol className="grid gap-1.5 not-empty:py-2.5 [&_time]:text-ink-3 [&_time]:tabular-nums">
        {attempts.slice(0, SHOWN_MAX).map(({ requestId, at, route, refusal }) => (
          <li
            key={requestId}
            className={`grid grid-cols-[auto_minmax(0,1fr)] gap-3 ${refusal ? '[&_strong]:text-bad' : '[&_strong]:text-good'}`}
          >
            <Time at={at} format={clock} />{' '}
            {refusal ? <Refused client={client} refusal={refusal} /> : <Granted route={route} />}
          </li>
        ))}
      </ol>
    </div>
  )
}

const Granted = ({ route }: { route: string }) =>
  route === TOKEN_ROUTE ? (
    <strong>Token issued</strong>
  ) : (
    <span>
      <strong>Granted:</strong> <code>{route}</code>
    </span>
  )

const Refused = ({ client: { secretHint }, refusal }: { client: OAuthClient; refusal: Refusal }) => (
  <span>
    <strong>Refused: {causeWords(refusal.cause)}.</strong>{' '}
    {refusal.cause === 'wrong_secret' && secretHint !== null ? (
      <>
        It should end in <code>…{secretHint}</code>.
      </>
    ) : (
      firstSentence(refusal.advice)
    )}
  </span>
)

/** The rest of an advice is for a client that is in use. */
const firstSentence = (advice: string): string => advice.split(/(?<=\.) (?=[A-Z])/)[0] ?? advice
