import { useState } from 'react'
import { Labelled } from '../ui/Field.tsx'
import { type ComparedClaim, compareToken } from './compare-token.ts'
import type { Workload } from './platforms.ts'

/** Compares a pasted token with a client. The token stays in this component: the field has no name, so no form sends it. */
export function CompareToken({ workload }: { workload: Workload }) {
  const [token, setToken] = useState('')
  const compared = compareToken(token, workload, { audience: location.origin, now: new Date() })
  return (
    <details>
      <summary className="w-fit cursor-pointer font-semibold">Compare a token</summary>
      <Labelled
        label="A token of the platform"
        hint="It stays in this browser: it is neither sent nor stored. Its signature is not checked here."
        error={token && !compared && 'This is not a JWT.'}
      >
        {(control) => (
          <textarea
            {...control}
            className="input font-mono text-[14px]"
            rows={3}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={token}
            onChange={({ target: { value } }) => setToken(value)}
          />
        )}
      </Labelled>
      <ul className="grid gap-1.5 text-[14px] [&_code]:wrap" aria-live="polite">
        {compared?.map((claim) => (
          <li key={claim.name}>
            <Compared claim={claim} />
          </li>
        ))}
      </ul>
    </details>
  )
}

const Compared = ({ claim: { name, expected, actual, matches } }: { claim: ComparedClaim }) => (
  <>
    <code>{name}</code>{' '}
    <strong className={matches ? 'text-good' : 'text-bad'}>{matches ? 'matches' : 'differs'}</strong>
    {!matches && (
      <>
        : must be <code>{expected}</code>,{' '}
        {actual === undefined ? (
          'and is missing'
        ) : (
          <>
            is <code>{actual}</code>
          </>
        )}
      </>
    )}
  </>
)
