import { type ReactNode, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useClient, useRotation } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { useSignedIn } from '../api/session.ts'
import { Page } from '../shell/Page.tsx'
import { useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS, docsOfOAuthError } from '../ui/docs.ts'
import { CheckIcon } from '../ui/icons.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { ArmRevocation } from './ArmRevocation.tsx'
import { CreateClient } from './CreateClient.tsx'
import { credentialName } from './credential.tsx'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { NoSuchClient } from './NoSuchClient.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { refusedSince, rehearsed, STATE_WORDS, type StepState, sentenceOf } from './rotation-words.ts'
import { Scopes } from './Status.tsx'
import { Timeline } from './Timeline.tsx'
import { scopesWanted, UNUSED_DAYS } from './unused-scopes.ts'

const WATCH_MS = 3_000

/**
 * From the old client to its replacement, without a gap. The service keeps which client replaces it, so the page can be
 * left and anyone who manages the company's clients can resume it: deploying takes its time.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const { to } = useCompany()
  const back = { to: `${to(SCREENS.clients)}/${clientId}`, label: 'Back to the client' }
  const query = useClient(clientId, WATCH_MS)
  const [creating, setCreating] = useState(false)
  const [search] = useSearchParams()
  const create = () => setCreating(true)
  return (
    <Page
      title={`Rotate the ${query.data ? credentialName(query.data) : 'secret'}`}
      back={back}
      lede={
        query.data && (
          <>
            You are rotating <bdi className="strong">{query.data.name}</bdi>. A client keeps its{' '}
            {credentialName(query.data)} for life, so a new client, with an id and a secret or key of its own,
            takes its place.{' '}
            {query.data.status === 'Active' &&
              !hasExpired(query.data, new Date()) &&
              'Both work until you revoke the old one. '}
            <DocsLink to={DOCS.rotation}>How to rotate</DocsLink>
          </>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton lines={10} />} missing={<NoSuchClient clientId={clientId} />}>
        {(old) => (
          <>
            <ExpiryNotice client={old} rotating />
            {old.replacedBy === null ? (
              <Steps old={old} onCreate={create} />
            ) : (
              <WithReplacement old={old} replacementId={old.replacedBy} onCreate={create} />
            )}
          </>
        )}
      </Loaded>
      {creating && query.data && (
        <CreateClient
          replaces={query.data}
          scopes={scopesWanted(search, query.data)}
          onClose={() => setCreating(false)}
        />
      )}
    </Page>
  )
}

interface WithReplacementProps {
  old: OAuthClient
  replacementId: string
  onCreate: () => void
}

/** With the service's judgement. Without a replacement there is nothing to judge. */
function WithReplacement({ old, replacementId, onCreate }: WithReplacementProps) {
  const query = useClient(replacementId, WATCH_MS)
  const rotation = useRotation(old.clientId, WATCH_MS)
  const skeleton = <Skeleton lines={10} />
  return (
    <Loaded query={query} skeleton={skeleton}>
      {(replacement) => {
        if (!rotation) return skeleton
        const again = replacement.status === 'Revoked' && old.status === 'Active'
        return again ? (
          <>
            <Notice tone="info" title="The last replacement was revoked">
              <bdi>{replacement.name}</bdi> no longer works, so the rotation begins again.
            </Notice>
            <Steps old={old} onCreate={onCreate} />
          </>
        ) : (
          <>
            <RevokedEarly old={old} rotation={rotation} />
            <Steps old={old} to={{ replacement, rotation }} onCreate={onCreate} />
          </>
        )
      }}
    </Loaded>
  )
}

function RevokedEarly({ old, rotation }: { old: OAuthClient; rotation: ClientRotation }) {
  const { userId } = useSignedIn().user
  const now = useNow()
  const refused = rotation.state === 'refused'
  if (!refused && rotation.state !== 'revoked') return null
  const title = refused
    ? refusedSince(rotation, old, { credential: credentialName(old), userId, now })
    : STATE_WORDS.revoked.warning
  return (
    <Notice tone={refused ? 'bad' : 'warn'} title={title}>
      {sentenceOf(rotation, now)}
    </Notice>
  )
}

interface StepsProps {
  old: OAuthClient
  to?: { replacement: OAuthClient; rotation: ClientRotation }
  onCreate: () => void
}

function Steps({ old, to, onCreate }: StepsProps) {
  const company = useCompany()
  const steps = STATE_WORDS[to?.rotation.state ?? 'no_replacement'].steps
  const [before, after] = [credentialName(old), credentialName(to?.replacement ?? old)]
  return (
    <ol className="steps max-w-[840px]">
      <Step number={1} title="Create a replacement" state={to ? 'done' : 'now'}>
        {to ? (
          <p>
            <Link href={`${company.to(SCREENS.clients)}/${to.replacement.clientId}`}>
              <bdi>{to.replacement.name}</bdi>
            </Link>{' '}
            <code className="quiet">{to.replacement.clientId}</code>
          </p>
        ) : old.status === 'Revoked' ? (
          <p>This client is already revoked: there is nothing to rotate.</p>
        ) : (
          <NoReplacement old={old} onCreate={onCreate} />
        )}
      </Step>
      <Step number={2} title="Deploy it" state={steps.deploy}>
        <p>
          {before === after
            ? `Replace the old id and ${before} with the new ones`
            : `Use the new id, and the ${after} in place of the ${before},`}{' '}
          in every system that uses <bdi>{old.name}</bdi>. You can leave this page: you or a teammate can
          continue from either client.
        </p>
      </Step>
      <Step number={3} title="Watch token requests move over" state={steps.watch}>
        {to ? (
          <Timeline old={old} {...to} />
        ) : (
          <p>Here you will see, live, which of the two clients your systems use.</p>
        )}
      </Step>
      <Step number={4} title="Revoke the old client" state={steps.revoke}>
        {old.status === 'Active' ? (
          <Revoking old={old} rotation={to?.rotation} />
        ) : (
          <p>
            <bdi>{old.name}</bdi> is revoked.
            {to?.rotation.state === 'complete' && ' The rotation is complete.'}
          </p>
        )}
      </Step>
    </ol>
  )
}

function Revoking({ old, rotation }: { old: OAuthClient; rotation: ClientRotation | undefined }) {
  const now = useNow()
  const [revoking, setRevoking] = useState(false)
  return (
    <>
      <p>{rotation ? sentenceOf(rotation, now) : 'Do this last, when the replacement has taken over.'}</p>
      {rotation && <p className="strong">{rehearsed(rotation)}</p>}
      {rotation && <ArmRevocation old={old} rotation={rotation} />}
      <Button
        variant="danger"
        unavailable={rotation ? undefined : 'Create the replacement first.'}
        onClick={() => setRevoking(true)}
      >
        Revoke the old client
      </Button>
      {revoking && <RevokeClient client={old} onClose={() => setRevoking(false)} />}
    </>
  )
}

interface StepProps {
  number: number
  title: string
  state: StepState
  children: ReactNode
}

const MARKS = {
  done: 'border-ink bg-ink text-paper forced-colors:border-[Highlight]',
  now: 'border-mark bg-mark text-mark-ink forced-colors:border-[Highlight]',
  later: 'border-line-strong text-ink-3',
}

function Step({ number, title, state, children }: StepProps) {
  return (
    <li
      className={`group step relative grid grid-cols-[36px_minmax(0,1fr)] gap-4 pb-9 not-last:before:absolute not-last:before:inset-y-10 not-last:before:start-[17px] not-last:before:bottom-1 not-last:before:w-0.5 ${state === 'done' ? 'step-done not-last:before:bg-ink' : 'not-last:before:bg-line'}`}
      data-state={state}
      aria-current={state === 'now' ? 'step' : undefined}
    >
      <span
        className={`step-mark grid size-9 place-items-center rounded-full border-2 font-[620] ${MARKS[state]}`}
        aria-hidden="true"
      >
        {state === 'done' ? <CheckIcon /> : number}
      </span>
      <div
        className={`grid justify-items-start gap-3 pt-1.5 [&_code]:wrap [&>*]:max-w-full [&>p]:max-w-[66ch] ${state === 'later' ? '[&_h2]:text-ink-3 [&>p]:text-ink-3' : ''}`}
      >
        <h2>
          {title}
          {state === 'done' && <span className="off-screen">, done</span>}
        </h2>
        {children}
      </div>
    </li>
  )
}

function NoReplacement({ old, onCreate }: { old: OAuthClient; onCreate: () => void }) {
  const [search, setSearch] = useSearchParams()
  const scopes = scopesWanted(search, old)
  const left = old.scopes.filter((scope) => !scopes.includes(scope))
  return (
    <>
      <p>
        {left.length === 0
          ? 'It gets the same scopes, its own id, and a secret or a key pair, as you choose.'
          : 'It gets its own id, a secret or a key pair, as you choose, and only these scopes.'}
      </p>
      <Scopes scopes={scopes} />
      {left.length > 0 && (
        <p>
          Left out, because no token had {left.length === 1 ? 'it' : 'them'} in {UNUSED_DAYS} days:{' '}
          {left.map((scope) => (
            <code key={scope} className="not-first-of-type:before:content-[',_']">
              {scope}
            </code>
          ))}
          . Token requests that name {left.length === 1 ? 'it' : 'one of them'} will fail with{' '}
          <DocsLink to={docsOfOAuthError('invalid_scope')}>
            <code>invalid_scope</code>
          </DocsLink>
          .
        </p>
      )}
      <p className="page-actions">
        <Button variant="primary" onClick={onCreate}>
          Create replacement
        </Button>
        {left.length > 0 && (
          <Button variant="quiet" onClick={() => setSearch({}, { replace: true })}>
            Keep all scopes
          </Button>
        )}
      </p>
    </>
  )
}
