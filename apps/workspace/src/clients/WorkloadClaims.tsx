import { useState } from 'react'
import { CodeArea } from '../ui/Field.tsx'
import { type ComparedClaim, compareToken, decodePayload } from './compare-token.ts'
import type { ClientWorkload } from './platforms.ts'

/** What a workload's tokens must have, and where a token differs from it. */
export const WorkloadClaims = ({ workload, token = '' }: { workload: ClientWorkload; token?: string }) => (
  <dl
    className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-md wrap-anywhere"
    aria-live={token ? 'polite' : undefined}
  >
    {compareToken(token, workload, { audience: location.origin, now: new Date() }).map((claim) => (
      <div key={claim.name} className="contents">
        <dt className="text-muted">
          <code>{claim.name}</code>
        </dt>
        <dd>
          {claim.expected ? (
            <code>{claim.expected}</code>
          ) : (
            <span className="text-muted">not filled in yet</span>
          )}{' '}
          {claim.matches !== undefined && <Verdict claim={claim} />}
        </dd>
      </div>
    ))}
  </dl>
)

const Verdict = ({ claim: { actual, matches } }: { claim: ComparedClaim }) =>
  matches ? (
    <strong className="text-good">matches</strong>
  ) : (
    <strong className="text-bad">
      differs: {actual === undefined ? 'the token lacks it' : <code>{actual}</code>}
    </strong>
  )

/** Compares a pasted token with them. The field has no name, so no form sends the token. */
export function CompareToken({ workload }: { workload: ClientWorkload }) {
  const [token, setToken] = useState('')
  return (
    <>
      <WorkloadClaims workload={workload} token={token} />
      <details className="mt-1.5">
        <summary className="w-fit cursor-pointer py-2.75 font-strong sm:py-0">Compare a token</summary>
        <CodeArea
          label="A token of the platform"
          hint="It is neither sent nor stored. Its signature is not checked here."
          error={token && !decodePayload(token) && 'This is not a JWT.'}
          rows={3}
          value={token}
          onChange={({ target: { value } }) => setToken(value)}
        />
      </details>
    </>
  )
}
