import { type ReactNode, useEffect, useState } from 'react'
import { causeWords } from '#shared/rules/refusal-causes.ts'
import { useClient, useRequests } from '../api/clients.ts'
import { CompanyContext } from '../api/company.ts'
import type { ClientRequest, OAuthClient } from '../api/contract.ts'
import { useReadingStopped } from '../api/query.ts'
import { useSession } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { Dialog, DialogFoot } from '../ui/Dialog.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { download } from '../ui/download.ts'
import { Checkbox } from '../ui/Field.tsx'
import { DownloadIcon } from '../ui/icons.tsx'
import { Notice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'
import { Time } from '../ui/Time.tsx'
import { type Credential, credentialName } from './credential.ts'
import { isGranted } from './Requests.tsx'
import { type Reveal, setReveal, useReveal } from './reveal.ts'
import { AccessCode } from './UseIt.tsx'
import { WorkloadClaims } from './WorkloadClaims.tsx'

/** Shows a new client's secret or private key, which nothing shows again, and waits for its first use. */
export function SecretReveal() {
  const reveal = useReveal()
  return reveal ? <RevealDialog key={reveal.client.clientId} {...reveal} /> : null
}

/** What there is to save. */
function savedPart(credential: Credential): 'secret' | 'private key' | undefined {
  if (credential.method === 'client_secret') return 'secret'
  return credential.method === 'private_key_jwt' && credential.privateKey ? 'private key' : undefined
}

const REMINDED = 'bg-mark text-mark-ink forced-colors:border-2 forced-colors:border-[Highlight]'

function RevealDialog({ company, client, credential, isAfterLoss }: Reveal) {
  const { vendorId } = company
  const { clientId, scopes } = client
  const session = useSession()
  const saves = savedPart(credential)
  const [isSaved, setIsSaved] = useState(saves === undefined)
  const [reminded, setReminded] = useState(false)
  useLeaveWarning(!isSaved)
  const access = { baseUrl: location.origin, vendorId, clientId, credential, scopes }
  const close = () => setReveal(undefined)
  return (
    <Dialog
      size="wide"
      title={say`${client.name} is ready`}
      description={
        saves
          ? `Save its ${saves} now. It is offered only once. No one, not even support, can show it again.`
          : credential.method === 'workload_identity'
            ? `It sends its platform’s token. There is nothing to save: put this in the job.`
            : 'It signs its token requests with the private key that belongs to your public key.'
      }
      onClose={close}
      canClose={isSaved}
      onRefuseClose={() => setReminded(true)}
    >
      {isAfterLoss && (
        <Notice tone="warn" title="Your earlier try may have created another client" live>
          If you see it in the list of clients, revoke it.
        </Notice>
      )}
      <dl className="grid items-center gap-1 sm:grid-cols-[auto_minmax(0,1fr)] sm:gap-x-4 sm:gap-y-2.5">
        <dt className="text-muted">Client id</dt>
        <dd className={BOX}>
          <code className={CODE}>{clientId}</code>
          <CopyButton text={clientId} what="client id" labelled />
        </dd>
        <Proof credential={credential} client={client} />
      </dl>
      <AccessCode access={access} />
      <p className="text-sm text-muted">
        {saves &&
          `Keep the ${saves} on servers, in a secret store${saves === 'secret' ? ' or an environment variable' : ''}. Never put it in a browser, a mobile app, source control, a log or a URL. `}
        {credential.method === 'private_key_jwt' && (
          <DocsLink to={DOCS.privateKey}>How to sign token requests</DocsLink>
        )}
      </p>
      <CompanyContext value={company}>
        {session.state === 'signed-in' ? (
          <FirstToken client={client} />
        ) : (
          <Notice tone="warn" title="Your session has ended" live>
            {saves
              ? `Save the ${saves} before you sign in again.`
              : 'Sign in again to see the first token request.'}
          </Notice>
        )}
      </CompanyContext>
      <DialogFoot>
        {saves && (
          <Checkbox
            className={`me-auto font-strong ${reminded && !isSaved ? REMINDED : ''}`}
            checked={isSaved}
            onChange={setIsSaved}
          >
            I have saved the {saves}
          </Checkbox>
        )}
        <span
          className="flex-1 text-start text-sm max-sm:not-empty:-order-1 max-sm:not-empty:basis-full"
          role="status"
        >
          {reminded && !isSaved && `Tick the box first: once this is closed, the ${saves} is gone.`}
        </span>
        <Button
          variant="primary"
          unavailable={isSaved ? undefined : `Save the ${saves} and tick the box first.`}
          onUnavailable={() => setReminded(true)}
          onClick={close}
        >
          Done
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

const CODE = 'min-w-0 text-sm wrap-anywhere'
const BOX =
  'mb-2 flex flex-wrap items-center justify-between gap-3 rounded-md border border-line py-1.5 ps-3 pe-1.5 sm:mb-0 sm:flex-nowrap'

/** What the client proves its identity with. A private key is not shown: its file is what is needed. */
function Proof({ credential, client }: Pick<Reveal, 'credential' | 'client'>) {
  if (credential.method === 'client_secret') {
    return (
      <Saved name="Client secret" text={credential.secret}>
        <CopyButton text={credential.secret} what="client secret" labelled />
      </Saved>
    )
  }
  if (credential.method === 'workload_identity') {
    return (
      <>
        <dt className="text-muted">Its tokens must have</dt>
        <dd className={BOX}>
          <WorkloadClaims workload={credential.workload} />
        </dd>
      </>
    )
  }
  const { privateKey } = credential
  const file = `${client.clientId}.pem`
  return (
    <>
      {privateKey && (
        <Saved name="Private key" text={file}>
          <Button
            icon={<DownloadIcon />}
            onClick={() => download(file, privateKey, 'application/x-pem-file')}
          >
            Download
          </Button>
          <CopyButton text={privateKey} what="private key" labelled otherwise="Download it" />
        </Saved>
      )}
      <dt className="text-muted">Key thumbprint</dt>
      <dd className={BOX}>
        <code className={CODE}>{client.keyThumbprint}</code>
      </dd>
    </>
  )
}

const Saved = ({ name, text, children }: { name: string; text: string; children: ReactNode }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd
      className={`${BOX} border-transparent bg-mark font-medium text-mark-ink forced-colors:border-2 forced-colors:border-[Highlight]`}
    >
      <code className={CODE}>{text}</code>
      {children}
    </dd>
  </>
)

/** The browser asks before a reload or a closed tab takes the secret away. */
function useLeaveWarning(active: boolean): void {
  useEffect(() => {
    if (!active) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [active])
}

const WATCH_MS = 2_000

/** What the service sees of a new client, live: its first token, and each request. */
function FirstToken({ client }: { client: OAuthClient }) {
  // The list of clients learns of it too.
  const tokenAt = useClient(client.clientId, WATCH_MS).data?.lastUsedAt
  const stopped = useReadingStopped()
  return (
    <div className="grid gap-1.5 border-y border-line py-3">
      <p className={`flex items-center gap-2.5 ${tokenAt ? 'font-strong text-good' : ''}`} role="status">
        <span
          className={`size-2.5 flex-none rounded-full forced-color-adjust-none forced-colors:border-2 forced-colors:border-[CanvasText] ${tokenAt ? 'bg-good forced-colors:bg-[CanvasText]' : `${stopped ? '' : 'animate-pulse'} bg-control forced-colors:bg-[Canvas]`}`}
          aria-hidden="true"
        />
        {tokenAt
          ? say`Token issued at ${<Time at={tokenAt} format="timeOfDay" />}: the id and ${credentialName(client)} ${client.workload ? 'match' : 'work'}.`
          : `Waiting for the first token request: run the ${client.workload ? 'job' : 'curl command'} and see it arrive here.`}
      </p>
      <Attempts client={client} />
    </div>
  )
}

const SHOWN_MAX = 8
const TOKEN_ROUTE = 'POST /v1/oauth/token'

/** A new client's requests, newest first, live. A refused one says the one thing to change. */
function Attempts({ client }: { client: OAuthClient }) {
  const requests = useRequests(client.clientId, WATCH_MS).data?.requests ?? []
  return (
    <div role="log" aria-label="Attempts">
      <ol className="grid gap-1.5 not-empty:py-2.5">
        {requests.slice(0, SHOWN_MAX).map((request) => (
          <li key={request.requestId} className="grid grid-cols-[auto_minmax(0,1fr)] gap-3">
            <span className="text-muted tabular-nums">
              <Time at={request.at} format="timeOfDay" />
            </span>{' '}
            {isGranted(request) ? (
              <Granted route={request.route} />
            ) : (
              <Refused client={client} request={request} />
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}

const Granted = ({ route }: { route: string }) =>
  route === TOKEN_ROUTE ? (
    <strong className="text-good">Token issued</strong>
  ) : (
    <span>
      <strong className="text-good">Granted:</strong> <code className="wrap-anywhere">{route}</code>
    </span>
  )

function Refused({ client, request }: { client: OAuthClient; request: ClientRequest }) {
  const { cause, code, reason, advice } = request
  return (
    <span>
      <strong className="text-bad">Refused: {causeWords(cause ?? code ?? '')}.</strong>{' '}
      {cause === 'wrong_secret' && client.secretHint !== null
        ? say`It should end in ${<code>…{client.secretHint}</code>}.`
        : // Which claim of a platform's token differed says what to change.
          firstSentence((client.workload ? reason : advice) ?? '')}
    </span>
  )
}

/** The rest of an advice is for a client that is in use. */
const firstSentence = (advice: string): string => advice.split(/(?<=\.) (?=[A-Z])/)[0] ?? advice
