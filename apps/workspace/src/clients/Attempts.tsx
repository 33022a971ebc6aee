import { useEffect, useState } from 'react'
import { useClient } from '../api/clients.ts'
import type { OAuthClient, Refusal } from '../api/contract.ts'
import { clock } from '../api/time.ts'
import { useRefusals } from '../api/usage.ts'
import { causeWords } from './causes.ts'
import './failing.css'

const SHOWN_MAX = 8

export interface AttemptsProps {
  vendorId: string
  client: OAuthClient
  refresh_ms: number
}

/** A new client's token requests as they come, and its refused requests with the one thing to change, newest first. */
export function Attempts({ vendorId, client, refresh_ms }: AttemptsProps) {
  const granted = useGranted(useClient(vendorId, client.clientId, refresh_ms).data?.lastUsedAt ?? null)
  const refused = useRefusals(vendorId, client.clientId, refresh_ms).data?.refusals ?? []
  const attempts = [
    ...granted.map((at) => ({ key: at, at, refusal: undefined })),
    ...refused.map((refusal) => ({ key: refusal.requestId, at: refusal.at, refusal })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1))
  return (
    <div role="log" aria-label="Attempts">
      <ol className="attempts">
        {attempts.slice(0, SHOWN_MAX).map(({ key, at, refusal }) => (
          <li key={key} className={refusal ? 'attempt-refused' : 'attempt-granted'}>
            <time dateTime={at}>{clock(new Date(at))}</time>{' '}
            {refusal ? <Refused client={client} refusal={refusal} /> : <strong>Token issued</strong>}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** The service keeps only when the client last got a token. Two tokens within one refresh are shown as one. */
function useGranted(lastUsedAt: string | null): string[] {
  const [granted, setGranted] = useState<string[]>([])
  useEffect(() => {
    if (lastUsedAt === null) return
    setGranted((known) => (known.includes(lastUsedAt) ? known : [lastUsedAt, ...known].slice(0, SHOWN_MAX)))
  }, [lastUsedAt])
  return granted
}

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
