import { useEffect, useState } from 'react'
import { useClient } from '../api/clients.ts'
import { useSession } from '../api/session.ts'
import { clock } from '../api/time.ts'
import { Button } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { Notice } from '../ui/Notice.tsx'
import { AccessCode } from './AccessCode.tsx'
import { type Reveal, setReveal, useReveal } from './reveal.ts'
import './clients.css'

const WATCH_MS = 2_000

/** Shows a new client's secret, the only time that anyone sees it, and waits for its first use. */
export function SecretReveal() {
  const reveal = useReveal()
  return reveal ? <RevealDialog key={reveal.client.clientId} {...reveal} /> : null
}

function RevealDialog({ vendorId, client, clientSecret, replaces }: Reveal) {
  const [saved, setSaved] = useState(false)
  const [reminded, setReminded] = useState(false)
  useLeaveWarning(!saved)
  const access = {
    baseUrl: location.origin,
    vendorId,
    clientId: client.clientId,
    clientSecret,
    scopes: client.scopes,
  }
  const done = () => setReveal(undefined)
  return (
    <Dialog
      size="wide"
      title={
        <>
          <bdi>{client.name}</bdi> is ready
        </>
      }
      description="Save its secret now. It is shown only once. No one, not even support, can show it again."
      onClose={done}
      held={!saved}
      onHeld={() => setReminded(true)}
    >
      <dl className="reveal">
        <dt>Client id</dt>
        <dd>
          <code>{client.clientId}</code>
          <CopyButton text={client.clientId} what="client id" labelled />
        </dd>
        <dt>Client secret</dt>
        <dd className="reveal-secret">
          <code>{clientSecret}</code>
          <CopyButton text={clientSecret} what="client secret" labelled />
        </dd>
      </dl>
      <AccessCode access={access} />
      <p className="small quiet">
        Keep the secret on servers, in a secret store or an environment variable. Never put it in a browser, a
        mobile app, source control, a log or a URL.{' '}
        <DocsLink to={DOCS.token}>How to get and keep a token</DocsLink>
      </p>
      <FirstUse vendorId={vendorId} clientId={client.clientId} />
      <footer className="dialog-foot reveal-foot">
        <label className={reminded && !saved ? 'check check-wanted' : 'check'}>
          <input type="checkbox" checked={saved} onChange={(event) => setSaved(event.target.checked)} />
          <span>I have saved the secret</span>
        </label>
        <span className="reveal-remind" role="status">
          {reminded && !saved && 'Tick the box first: once this is closed, the secret is gone.'}
        </span>
        <Button
          variant="primary"
          unavailable={saved ? undefined : 'Save the secret and tick the box first.'}
          onUnavailable={() => setReminded(true)}
          onClick={done}
        >
          {replaces ? 'Continue the rotation' : 'Done'}
        </Button>
      </footer>
    </Dialog>
  )
}

/** The browser asks before a reload or a closed tab takes the secret away. */
function useLeaveWarning(active: boolean): void {
  useEffect(() => {
    if (!active) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [active])
}

function FirstUse({ vendorId, clientId }: { vendorId: string; clientId: string }) {
  const session = useSession()
  if (session.state === 'signed-in') return <Watch vendorId={vendorId} clientId={clientId} />
  return (
    <Notice tone="warn" title="Your session has ended" live>
      Save the secret before you sign in again.
    </Notice>
  )
}

function Watch({ vendorId, clientId }: { vendorId: string; clientId: string }) {
  const { data } = useClient(vendorId, clientId, WATCH_MS)
  return (
    <p className={data?.lastUsedAt ? 'watch watch-seen' : 'watch'} role="status">
      <span className="watch-dot" aria-hidden="true" />
      {data?.lastUsedAt
        ? `First token issued at ${clock(new Date(data.lastUsedAt))}. This client works.`
        : 'Waiting for the first token request: run the curl command and see it arrive here.'}
    </p>
  )
}
