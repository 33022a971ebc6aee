import { Link, useSearchParams } from 'wouter'
import { useClient, useRotation } from '../api/clients.ts'
import { SCREENS, useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS, docsOfOAuthError } from '../ui/docs.ts'
import { useDraft } from '../ui/draft.ts'
import { Loaded, Skeleton } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { listed, say } from '../ui/say.tsx'
import { CreateClient } from './CreateClient.tsx'
import { credentialName, rotationName } from './credential.tsx'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { NoSuchClient } from './NoSuchClient.tsx'
import { RevokeOld } from './RevokeOld.tsx'
import { RotationSeen } from './RotationSeen.tsx'
import { Scopes } from './Status.tsx'
import { scopesIn, UNUSED_DAYS } from './unused-scopes.ts'

const WATCH_MS = 3_000

/**
 * Replaces a client without a gap. Deploying takes time, and the service knows which client replaces which,
 * so anyone who manages the company's clients can continue here later.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const { to, mayManage } = useCompany()
  const back = { to: `${to(SCREENS.clients)}/${clientId}`, label: 'Back to the client' }
  const query = useClient(clientId, WATCH_MS)
  const [creating, setCreating] = useDraft('creating', false)
  const [search] = useSearchParams()
  return (
    <Page title={titleOf(query.data)} back={back} lede={query.data && <Lede old={query.data} />}>
      <Loaded query={query} skeleton={<Skeleton lines={10} />} missing={<NoSuchClient clientId={clientId} />}>
        {(old) => (
          <>
            <ExpiryNotice client={old} rotating />
            <Rotation old={old} onCreate={() => setCreating(true)} />
          </>
        )}
      </Loaded>
      {creating && mayManage && query.data && (
        <CreateClient
          replaces={query.data}
          scopes={scopesIn(search, query.data)}
          onClose={() => setCreating(false)}
        />
      )}
    </Page>
  )
}

function titleOf(old: OAuthClient | undefined): string {
  if (!old) return 'Rotate the secret'
  return old.status === 'Revoked' ? 'Rotation' : rotationName(old)
}

function Lede({ old }: { old: OAuthClient }) {
  const name = <bdi className="strong">{old.name}</bdi>
  if (old.status === 'Revoked') return say`${name} is revoked.`
  return (
    <>
      {old.workload ? 'To replace' : 'To rotate'} {name}, you create a new client with its own id: a client
      keeps its {credentialName(old)} for life.{' '}
      {old.workload &&
        'The platform renews its tokens, so this is needed only for other scopes or before it expires. '}
      {!hasExpired(old, new Date()) && 'Both work until you revoke the old one. '}
      <DocsLink to={DOCS.rotation}>How to rotate</DocsLink>
    </>
  )
}

interface RotationProps {
  old: OAuthClient
  onCreate: () => void
}

const NEW_PARTS = { secret: 'id and secret', key: 'id and key', workload: 'id' }

/** What was seen of both clients, and what to do with the old one. */
function Rotation({ old, onCreate }: RotationProps) {
  const { mayManage } = useCompany()
  const { data: replacement } = useClient(old.replacedBy, WATCH_MS)
  const query = useRotation(old.clientId, WATCH_MS)
  if (query.isPending && query.fetchStatus !== 'paused') return <Skeleton lines={10} />
  // What was read before an outage may no longer be true.
  const rotation = query.isError || query.fetchStatus === 'paused' ? undefined : query.data
  const replaced = replacement?.status === 'Active'
  return (
    <>
      {!rotation && (
        <Notice tone="warn" title="The use of these clients cannot be read right now" live>
          What is not known is shown as –.
        </Notice>
      )}
      {replacement && <Chain old={old} replacement={replacement} />}
      {old.status === 'Active' && replaced && rotation?.replacement?.firstUsedAt === null && (
        <Notice tone="info" title="Next: deploy the replacement">
          Put the new {NEW_PARTS[credentialName(replacement)]} where your system has the old one.{' '}
          {say`The first token of ${replacement.name} appears here within seconds.`}
        </Notice>
      )}
      {mayManage && old.status === 'Active' && !replaced && (
        <section className="section" aria-labelledby="create-title">
          <h2 id="create-title">Create a replacement</h2>
          {replacement && (
            <p>
              The last replacement, <bdi>{replacement.name}</bdi>, was revoked.
            </p>
          )}
          <NoReplacement old={old} onCreate={onCreate} />
        </section>
      )}
      <RotationSeen old={old} replacement={replacement} rotation={rotation} />
      {(replaced || old.status === 'Revoked') && <RevokeOld old={old} rotation={rotation} />}
    </>
  )
}

/** The rotations before and after this one. */
function Chain({ old, replacement }: { old: OAuthClient; replacement: OAuthClient }) {
  const { to } = useCompany()
  const linkRotation = (clientId: string, text: string) => (
    <Link href={`${to(SCREENS.clients)}/${clientId}/rotate`}>{text}</Link>
  )
  if (old.replaces === null && replacement.replacedBy === null) return null
  return (
    <p className="flex flex-wrap gap-x-5 [&_a]:touch">
      {old.replaces && linkRotation(old.replaces, 'The rotation before')}
      {replacement.replacedBy && linkRotation(replacement.clientId, 'The rotation after')}
    </p>
  )
}

function NoReplacement({ old, onCreate }: { old: OAuthClient; onCreate: () => void }) {
  const [search, setSearch] = useSearchParams()
  const scopes = scopesIn(search, old)
  const left = old.scopes.filter((scope) => !scopes.includes(scope))
  return (
    <>
      <p>
        {left.length === 0
          ? 'It gets the same scopes, its own id, and authenticates as you choose.'
          : 'It gets its own id and only these scopes, and authenticates as you choose.'}
      </p>
      <Scopes scopes={scopes} />
      {left.length > 0 && (
        <p>
          Left out, because no token had {left.length === 1 ? 'it' : 'them'} in {UNUSED_DAYS} days:{' '}
          {listed(left.map((scope) => <code key={scope}>{scope}</code>))}. Token requests that name{' '}
          {left.length === 1 ? 'it' : 'one of them'} will fail with{' '}
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
