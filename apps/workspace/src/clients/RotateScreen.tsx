import { useClient, useRotation } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Page } from '../shell/Page.tsx'
import { Button } from '../ui/Button.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS } from '../ui/docs.ts'
import { useDraft } from '../ui/draft.ts'
import { Loaded } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { Section } from '../ui/Section.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { listed, say } from '../ui/say.ts'
import { CreateClient } from './CreateClient.tsx'
import { credentialName, rotationName } from './credential.ts'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { NoSuchClient } from './NoSuchClient.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { RevokedNotice } from './RevokedNotice.tsx'
import { RotationSeen, type RotationSeenProps } from './RotationSeen.tsx'
import { inOrder } from './scopes.ts'

const WATCH_MS = 3_000

/**
 * Replaces a client without a gap. Deploying takes time, and the service knows which client replaces which,
 * so anyone who manages the company's clients can continue here later.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const { to, mayManage } = useCompany()
  const query = useClient(clientId, WATCH_MS)
  const { data: old } = query
  const { data: replacement } = useClient(old?.replacedBy ?? null, WATCH_MS)
  const [creating, setCreating] = useDraft('creating', false)
  return (
    <Page
      title={old ? `${doingTo(old)} ${old.name}` : 'Rotation'}
      heading={old && say`${doingTo(old)} ${old.name}`}
      back={
        query.isLoadingError
          ? { to: to('clients'), label: 'OAuth2 Clients' }
          : { to: to('client', clientId), label: 'Back to the client' }
      }
      lede={old?.status === 'Active' && <Lede old={old} />}
      actions={
        old?.status === 'Active' &&
        (old.replacedBy === null || replacement?.status === 'Revoked') && (
          <Button variant="primary" onClick={() => setCreating(true)}>
            Create replacement
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton lines={10} />} missing={<NoSuchClient clientId={clientId} />}>
        {(loaded) => <Rotation old={loaded} replacement={replacement} />}
      </Loaded>
      {creating && mayManage && old && <CreateClient replaces={old} onClose={() => setCreating(false)} />}
    </Page>
  )
}

/** How the title begins, before the client's name. */
function doingTo(old: OAuthClient): string {
  if (old.status === 'Revoked') return 'Rotation of'
  return old.workload ? 'Replace' : `${rotationName(old)} of`
}

function Lede({ old }: { old: OAuthClient }) {
  return (
    <>
      A client keeps its {credentialName(old)} for life, so a new one, with its own id, takes the place of{' '}
      <bdi className="font-strong">{old.name}</bdi>.{' '}
      {old.workload &&
        'The platform renews its tokens, so you need this only to change the scopes or before the client expires. '}
      {!hasExpired(old, new Date()) &&
        `The old one works until it is revoked${old.expiresAt ? ' or expires' : ''}. `}
      <DocsLink to={DOCS.rotation}>How to rotate</DocsLink>
    </>
  )
}

/** What was seen of both clients, and what to do with the old one. */
function Rotation({ old, replacement }: Omit<RotationSeenProps, 'rotation'>) {
  const { mayManage } = useCompany()
  const query = useRotation(old.clientId, WATCH_MS)
  if (query.isPending && query.fetchStatus !== 'paused') return <Skeleton lines={10} />
  // What was read before an outage may no longer be true.
  const rotation = query.isError || query.fetchStatus === 'paused' ? undefined : query.data
  const isRunning = old.status === 'Active' && replacement?.status === 'Active'
  const isReplacementExpired = isRunning && hasExpired(replacement, new Date())
  return (
    <>
      <div className="grid gap-6 empty:hidden">
        <RevokedNotice client={old} rotating />
        <ExpiryNotice client={old} />
        {!rotation && (
          <Notice tone="warn" title="The use of these clients cannot be read right now" live>
            What is not known is shown as –.
          </Notice>
        )}
        {old.status === 'Active' && replacement?.status === 'Revoked' && (
          <p>{say`The last replacement, ${replacement.name}, was revoked.`}</p>
        )}
        {isReplacementExpired && (
          <p>{say`The replacement, ${replacement.name}, has expired. Revoke it to create another.`}</p>
        )}
        {replacement && <LostScopes old={old} replacement={replacement} />}
        {isRunning && !isReplacementExpired && rotation?.replacement?.firstUsedAt === null && (
          <Notice tone="info" title="Next: deploy the replacement">
            Put the new id {!replacement.workload && `and ${credentialName(replacement)} `}where your system
            has the old one. {say`The first token of ${replacement.name} appears here within seconds.`}
          </Notice>
        )}
      </div>
      <RotationSeen old={old} replacement={replacement} rotation={rotation} />
      {mayManage && isRunning && <RevokeOld old={old} />}
    </>
  )
}

function LostScopes({ old, replacement }: Record<'old' | 'replacement', OAuthClient>) {
  const lost = inOrder(old.scopes.filter((scope) => !replacement.scopes.includes(scope)))
  if (lost.length === 0) return null
  return (
    <p>{say`${replacement.name} lacks ${listed(lost.map((scope) => <code key={scope}>{scope}</code>))}.`}</p>
  )
}

function RevokeOld({ old }: { old: OAuthClient }) {
  const [revoking, setRevoking] = useDraft('revoking', false)
  return (
    <Section id="revoke-title" title="Revoke the old client">
      <p>
        <Button variant="danger" className="wrap-anywhere" onClick={() => setRevoking(true)}>
          Revoke <bdi>{old.name}</bdi>
        </Button>
      </p>
      {revoking && <RevokeClient client={old} onClose={() => setRevoking(false)} />}
    </Section>
  )
}
