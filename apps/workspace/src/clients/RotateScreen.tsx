import { type ReactNode, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useClient, useClients } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { SCREENS, useCompany } from '../shell/company.ts'
import { NotForYou } from '../shell/NotForYou.tsx'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { CheckIcon } from '../ui/icons.tsx'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { CreateClient } from './CreateClient.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { useProgress } from './rotation.ts'
import { Scopes } from './Status.tsx'
import { TokenWatch } from './TokenWatch.tsx'
import './clients.css'
import './rotate.css'

const WATCH_MS = 3_000

/**
 * From the old client to its replacement, without a gap. Which client replaces it stands in the address, so the
 * page can be left and come back to: deploying takes its time.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const company = useCompany()
  const back = { to: `${company.to(SCREENS.clients)}/${clientId}`, label: 'The client' }
  if (!company.mayManage) {
    return (
      <Page title="Rotate" back={back}>
        <NotForYou what="Rotating a secret">Rotation creates one client and revokes another.</NotForYou>
      </Page>
    )
  }
  return <Rotation clientId={clientId} back={back} />
}

function Rotation({ clientId, back }: { clientId: string; back: { to: string; label: string } }) {
  const { vendorId } = useCompany()
  const [search, setSearch] = useSearchParams()
  const query = useClient(vendorId, clientId, WATCH_MS)
  const replacementId = search.get('replacement') ?? undefined
  const choose = (id: string) => setSearch({ replacement: id }, { replace: true })
  return (
    <Page
      title="Rotate the secret"
      back={back}
      lede={
        query.data && (
          <>
            Of <bdi className="strong">{query.data.name}</bdi>. A secret never changes, so a new client takes
            the old one’s place. Both work until the last step: nothing has to stop.
          </>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton lines={10} />}>
        {(old) =>
          replacementId ? (
            <WithReplacement
              old={old}
              replacementId={replacementId}
              onForget={() => setSearch({}, { replace: true })}
            />
          ) : (
            <Steps old={old} replacement={undefined} onChoose={choose} />
          )
        }
      </Loaded>
    </Page>
  )
}

function WithReplacement({
  old,
  replacementId,
  onForget,
}: {
  old: OAuthClient
  replacementId: string
  onForget: () => void
}) {
  const { vendorId } = useCompany()
  const query = useClient(vendorId, replacementId, WATCH_MS)
  return (
    <Loaded query={query} skeleton={<Skeleton lines={10} />}>
      {(replacement) =>
        replacement.status === 'Revoked' || replacement.clientId === old.clientId ? (
          <Notice
            tone="warn"
            title="That replacement cannot be used"
            actions={<Button onClick={onForget}>Choose another</Button>}
          >
            <bdi>{replacement.name}</bdi>{' '}
            {replacement.status === 'Revoked' ? 'is revoked.' : 'is the client itself.'}
          </Notice>
        ) : (
          <Steps old={old} replacement={replacement} onChoose={() => {}} />
        )
      }
    </Loaded>
  )
}

interface StepsProps {
  old: OAuthClient
  replacement: OAuthClient | undefined
  onChoose: (clientId: string) => void
}

function Steps({ old, replacement, onChoose }: StepsProps) {
  const progress = useProgress(old, replacement)
  const [revoking, setRevoking] = useState(false)
  return (
    <>
      <ol className="steps">
        <Step number={1} title="Create a replacement" state={replacement ? 'done' : 'now'}>
          {replacement ? (
            <ClientLine client={replacement} />
          ) : old.status === 'Revoked' ? (
            <p>This client is revoked already: there is nothing left to rotate.</p>
          ) : (
            <ChooseReplacement old={old} onChoose={onChoose} />
          )}
        </Step>
        <Step
          number={2}
          title="Deploy it"
          state={progress.step === 'create' ? 'later' : progress.replacementUsed ? 'done' : 'now'}
        >
          <p>
            Put the replacement’s id and secret in the place of the old ones, in every system that uses{' '}
            <bdi>{old.name}</bdi>. The old client goes on working meanwhile. You can leave this page: its
            address remembers where you are.
          </p>
        </Step>
        <Step number={3} title="See the token requests move" state={watchState(progress.step)}>
          {replacement ? (
            <TokenWatch old={old} replacement={replacement} progress={progress} />
          ) : (
            <p>Here you will see, live, which of the two clients your systems use.</p>
          )}
        </Step>
        <Step
          number={4}
          title="Revoke the old client"
          state={progress.step === 'done' ? 'done' : progress.step === 'revoke' ? 'now' : 'later'}
        >
          {progress.step === 'done' ? (
            <p>
              <bdi>{old.name}</bdi> is revoked. The rotation is complete.
            </p>
          ) : (
            <>
              <p>
                {progress.step === 'revoke'
                  ? 'Nothing that runs all the time uses it any more.'
                  : progress.caution}
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
        <RevokeClient
          client={old}
          caution={progress.step === 'revoke' ? undefined : progress.caution}
          onClose={() => setRevoking(false)}
        />
      )}
    </>
  )
}

const watchState = (step: string): StepState =>
  step === 'create' ? 'later' : step === 'revoke' || step === 'done' ? 'done' : 'now'

type StepState = 'done' | 'now' | 'later'

function Step({
  number,
  title,
  state,
  children,
}: {
  number: number
  title: string
  state: StepState
  children: ReactNode
}) {
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

function ChooseReplacement({ old, onChoose }: { old: OAuthClient; onChoose: (clientId: string) => void }) {
  const { vendorId } = useCompany()
  const [creating, setCreating] = useState(false)
  const { data } = useClients(vendorId, 'Active')
  const suitable = (data?.pages.flatMap((page) => page.clients) ?? []).filter(
    (client) =>
      client.createdAt > old.createdAt && old.scopes.every((scope) => client.scopes.includes(scope)),
  )
  return (
    <>
      <p>It gets the same scopes, and a secret of its own that is shown once.</p>
      <Scopes scopes={old.scopes} />
      <Button variant="primary" onClick={() => setCreating(true)}>
        Create replacement
      </Button>
      {suitable.length > 0 && (
        <details className="already">
          <summary>It exists already</summary>
          <ul>
            {suitable.map((client) => (
              <li key={client.clientId}>
                <span>
                  <bdi>{client.name}</bdi> <code>{client.clientId}</code>
                </span>
                <Button onClick={() => onChoose(client.clientId)}>Use this one</Button>
              </li>
            ))}
          </ul>
        </details>
      )}
      {creating && (
        <CreateClient
          replaces={old}
          onClose={() => setCreating(false)}
          onCreated={(client) => onChoose(client.clientId)}
        />
      )}
    </>
  )
}
