import { type ReactNode, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useClient } from '../api/clients.ts'
import type { ClientRotation, OAuthClient } from '../api/contract.ts'
import { useRotation } from '../api/rotation.ts'
import { useSignedIn } from '../api/session.ts'
import { dateTime } from '../api/time.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
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
import './clients.css'
import './rotate.css'

const WATCH_MS = 3_000

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

/** With the service's judgement; without a replacement there is nothing to judge. */
function Deploying(props: DeployingProps) {
  const { vendorId } = useCompany()
  const { user } = useSignedIn()
  const now = useNow()
  const rotation = useRotation(vendorId, props.old.clientId, WATCH_MS)
  if (!rotation) return <Skeleton lines={10} />
  const { state } = rotation
  return (
    <>
      {(state === 'refused' || state === 'revoked') && (
        <Notice
          tone={state === 'refused' ? 'bad' : 'warn'}
          title={
            state === 'refused'
              ? refusedSince(rotation, props.old, {
                  credential: credentialName(props.old),
                  userId: user.userId,
                  now,
                })
              : 'It is not known whether a replacement is in use'
          }
        >
          {sentenceOf(rotation, now)}
        </Notice>
      )}
      <Steps {...props} rotation={rotation} />
    </>
  )
}

interface StepsProps {
  old: OAuthClient
  replacement?: OAuthClient
  rotation?: ClientRotation
  onCreate: () => void
}

function Steps({ old, replacement, rotation, onCreate }: StepsProps) {
  const steps = STATE_WORDS[rotation?.state ?? 'no_replacement'].steps
  return (
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
      <Step number={2} title="Deploy it" state={steps.deploy}>
        <p>
          {credentialName(old) === credentialName(replacement ?? old)
            ? `Replace the old id and ${credentialName(old)} with the new ones`
            : `Use the new id, and the ${credentialName(replacement ?? old)} in place of the ${credentialName(old)},`}{' '}
          in every system that uses <bdi>{old.name}</bdi>.{' '}
          {old.status === 'Active' &&
            !hasExpired(old, new Date()) &&
            'The old client keeps working meanwhile. '}
          You can leave this page: you or a teammate can continue from either client.
        </p>
        {rotation && steps.deploy === 'now' && old.status === 'Active' && <WhatCounts {...rotation} />}
      </Step>
      <Step number={3} title="Watch token requests move over" state={steps.watch}>
        {replacement && rotation ? (
          <Timeline old={old} replacement={replacement} rotation={rotation} />
        ) : (
          <p>Here you will see, live, which of the two clients your systems use.</p>
        )}
      </Step>
      <Step number={4} title="Revoke the old client" state={steps.revoke}>
        {old.status === 'Revoked' ? (
          <Revoked old={old} replacement={replacement} complete={rotation?.state === 'complete'} />
        ) : (
          <Revoking old={old} rotation={replacement && rotation} />
        )}
      </Step>
    </ol>
  )
}

const WhatCounts = ({ secretPutAwayAt }: ClientRotation) => (
  <p className="quiet small">
    {secretPutAwayAt
      ? `Its secret was put away on ${dateTime(new Date(secretPutAwayAt))}. Tokens from before then count as a trial, and so do a few from one short stretch.`
      : 'Tokens of its first minutes count as a trial, and so do a few from one short stretch.'}
  </p>
)

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

interface RevokedProps {
  old: OAuthClient
  replacement: OAuthClient | undefined
  complete: boolean
}

function Revoked({ old, replacement, complete }: RevokedProps) {
  const { to } = useCompany()
  return (
    <>
      <p>
        <bdi>{old.name}</bdi> is revoked.{complete && ' The rotation is complete.'}
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
