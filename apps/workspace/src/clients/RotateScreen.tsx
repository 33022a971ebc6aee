import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { clock, dateTime, day } from '../api/time.ts'
import { useUsage } from '../api/usage.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { Page } from '../shell/Page.tsx'
import { useNow } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS, docsOfOAuthError } from '../ui/docs.ts'
import { CheckIcon } from '../ui/icons.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { CreateClient } from './CreateClient.tsx'
import { credentialName } from './credential.tsx'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { deployedAt, unprovenHabit } from './habits.ts'
import { NoSuchClient } from './NoSuchClient.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { useReveal } from './reveal.ts'
import { countingFrom, fromSeveralAddresses, progressOf, type Rotation } from './rotation.ts'
import { Scopes } from './Status.tsx'
import { type Histories, TokenWatch } from './TokenWatch.tsx'
import { scopesWanted, UNUSED_DAYS } from './unused-scopes.ts'
import './clients.css'
import './rotate.css'

const WATCH_MS = 3_000
const HISTORY_MS = 10_000

/**
 * From the old client to its replacement, without a gap. The service keeps which client replaces it, so the page can be
 * left and anyone who manages the company's clients can resume it: deploying takes its time.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const { vendorId, to } = useCompany()
  const back = { to: `${to(SCREENS.clients)}/${clientId}`, label: 'Back to the client' }
  const query = useClient(vendorId, clientId, WATCH_MS)
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
            {!hasExpired(query.data, new Date()) && 'Both work until you revoke the old one. '}
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

function WithReplacement({ old, replacementId, onCreate }: WithReplacementProps) {
  const { vendorId } = useCompany()
  const query = useClient(vendorId, replacementId, WATCH_MS)
  return (
    <Loaded query={query} skeleton={<Skeleton lines={10} />}>
      {(replacement) =>
        replacement.status === 'Revoked' && old.status === 'Active' ? (
          <>
            <Notice tone="info" title="The last replacement was revoked">
              <bdi>{replacement.name}</bdi> no longer works, so the rotation begins again.
            </Notice>
            <Steps old={old} onCreate={onCreate} />
          </>
        ) : (
          <Deploying old={old} replacement={replacement} onCreate={onCreate} />
        )
      }
    </Loaded>
  )
}

interface DeployingProps extends Omit<WithReplacementProps, 'replacementId'> {
  replacement: OAuthClient
}

/** Tokens count from the moment the secret is put away. Earlier ones to a single address were someone's trial. */
function Deploying({ old, replacement, onCreate }: DeployingProps) {
  const [search, setSearch] = useSearchParams()
  const shown = useReveal()?.client.clientId === replacement.clientId
  const wasShown = useRef(shown)
  const lastUsed_ms = Date.parse(replacement.lastUsedAt ?? '') || 0
  useEffect(() => {
    if (wasShown.current && !shown) {
      setSearch({ since: new Date(Math.max(Date.now(), lastUsed_ms)).toISOString() }, { replace: true })
    }
    wasShown.current = shown
  }, [shown, lastUsed_ms, setSearch])
  const since = shown ? undefined : countingFrom(replacement, search.get('since'))
  const { histories, unproven } = useHistories(old, replacement, since)
  const elsewhere = fromSeveralAddresses(histories.replacement?.addresses ?? [])
  return <Steps {...{ old, replacement, since, elsewhere, histories, unproven, onCreate }} />
}

/** What both clients did, and what that says against revoking the old one already. */
function useHistories(old: OAuthClient, replacement: OAuthClient, since: Date | undefined) {
  const { vendorId } = useCompany()
  const before = useUsage(vendorId, old.clientId, HISTORY_MS)
  const after = useUsage(vendorId, replacement.clientId, HISTORY_MS)
  const histories: Histories = { old: before.data, replacement: after.data }
  if (before.isPending || after.isPending) {
    return { histories, unproven: 'Looking up when the old client usually requests tokens …' }
  }
  // Its history may be a few seconds behind its last use.
  const deployed = (since && after.data && deployedAt(after.data.hours, since)) ?? new Date()
  return { histories, unproven: before.data && unprovenHabit(before.data.hours, deployed) }
}

interface StepsProps extends Rotation {
  histories?: Histories
  onCreate: () => void
}

const NO_HISTORIES: Histories = { old: undefined, replacement: undefined }

function Steps({ histories = NO_HISTORIES, onCreate, ...rotation }: StepsProps) {
  const { old, replacement, since, elsewhere = false } = rotation
  const progress = progressOf(rotation, useNow())
  const { step } = progress
  const [revoking, setRevoking] = useState(false)
  return (
    <>
      <ol className="steps">
        <Step number={1} title="Create a replacement" state={replacement ? 'done' : 'now'}>
          {replacement ? (
            <ClientLine client={replacement} />
          ) : old.status === 'Revoked' ? (
            <p>This client is already revoked: there is nothing to rotate.</p>
          ) : (
            <NoReplacement old={old} onCreate={onCreate} />
          )}
        </Step>
        <Step
          number={2}
          title="Deploy it"
          state={step === 'create' ? 'later' : step === 'deploy' ? 'now' : 'done'}
        >
          <p>
            {credentialName(old) === credentialName(replacement ?? old)
              ? `Replace the old id and ${credentialName(old)} with the new ones`
              : `Use the new id, and the ${credentialName(replacement ?? old)} in place of the ${credentialName(old)},`}{' '}
            in every system that uses <bdi>{old.name}</bdi>.{' '}
            {!hasExpired(old, new Date()) && 'The old client keeps working meanwhile. '}You can leave this
            page: you or a teammate can continue from either client.
          </p>
          {since && step !== 'done' && <p className="quiet small">{whatCounts(step, since, elsewhere)}</p>}
        </Step>
        <Step number={3} title="Watch token requests move over" state={watchState(step)}>
          {replacement ? (
            <TokenWatch old={old} replacement={replacement} progress={progress} histories={histories} />
          ) : (
            <p>Here you will see, live, which of the two clients your systems use.</p>
          )}
        </Step>
        <Step
          number={4}
          title="Revoke the old client"
          state={step === 'done' ? 'done' : step === 'revoke' ? 'now' : 'later'}
        >
          {step === 'done' ? (
            <Complete old={old} replacement={replacement} />
          ) : (
            <>
              <p>
                {!replacement
                  ? 'Do this last, when the replacement has taken over.'
                  : (progress.caution ??
                    'The replacement is in use, and the old client has been quiet for longer than it usually pauses.')}
              </p>
              <Button
                variant="danger"
                unavailable={replacement ? undefined : 'Create the replacement first.'}
                onClick={() => setRevoking(true)}
              >
                Revoke the old client
              </Button>
            </>
          )}
        </Step>
      </ol>
      {revoking && (
        <RevokeClient client={old} caution={progress.caution} onClose={() => setRevoking(false)} />
      )}
    </>
  )
}

function Complete({ old, replacement }: { old: OAuthClient; replacement: OAuthClient | undefined }) {
  const { to } = useCompany()
  return (
    <>
      <p>
        <bdi>{old.name}</bdi> is revoked. The rotation is complete.
      </p>
      <p>
        <Link href={`${to(SCREENS.clients)}${replacement ? `/${replacement.clientId}` : ''}`}>
          {replacement ? (
            <>
              Go to <bdi>{replacement.name}</bdi>
            </>
          ) : (
            'All clients'
          )}
        </Link>
      </p>
    </>
  )
}

function whatCounts(step: string, since: Date, elsewhere: boolean): string {
  if (step === 'deploy')
    return `Counting token requests from ${sinceText(since)}. Earlier ones count as a trial, as long as they all come from one address.`
  return elsewhere
    ? 'It has asked for tokens from more than one address, so this is more than one person’s trial.'
    : `It has asked for a token since ${sinceText(since)}. If that was you trying it out, it is not deployed yet.`
}

/** The day too, unless it is today. */
const sinceText = (since: Date): string => (day(since) === day(new Date()) ? clock(since) : dateTime(since))

const watchState = (step: string): StepState =>
  step === 'create' || step === 'deploy' ? 'later' : step === 'watch' ? 'now' : 'done'

type StepState = 'done' | 'now' | 'later'

interface StepProps {
  number: number
  title: string
  state: StepState
  children: ReactNode
}

function Step({ number, title, state, children }: StepProps) {
  return (
    <li className={`step step-${state}`} aria-current={state === 'now' ? 'step' : undefined}>
      <span className="step-mark" aria-hidden="true">
        {state === 'done' ? <CheckIcon /> : number}
      </span>
      <div className="step-body">
        <h2>
          {title}
          {state === 'done' && <span className="off-screen">, done</span>}
        </h2>
        {children}
      </div>
    </li>
  )
}

function ClientLine({ client }: { client: OAuthClient }) {
  const { to } = useCompany()
  return (
    <p className="client-line">
      <Link href={`${to(SCREENS.clients)}/${client.clientId}`}>
        <bdi>{client.name}</bdi>
      </Link>
      <code>{client.clientId}</code>
    </p>
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
            <code key={scope} className="scope-left">
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
