import { Link } from 'wouter'
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
import { CREDENTIAL_WORDS, credentialName, rotationName } from './credential.ts'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { NoSuchClient } from './NoSuchClient.tsx'
import { RevokedNotice } from './RevokedNotice.tsx'
import { RevokeOld } from './RevokeOld.tsx'
import { RotationSeen } from './RotationSeen.tsx'
import { inOrder } from './scopes.ts'

const WATCH_MS = 3_000

/**
 * Replaces a client without a gap. Deploying takes time, and the service knows which client replaces which,
 * so anyone who manages the company's clients can continue here later.
 */
export default function RotateScreen({ clientId }: { clientId: string }) {
  const { to, mayManage } = useCompany()
  const back = { to: to('client', clientId), label: 'Back to the client' }
  const query = useClient(clientId, WATCH_MS)
  const [creating, setCreating] = useDraft('creating', false)
  return (
    <Page
      title={titleOf(query.data)}
      back={back}
      lede={query.data?.status === 'Active' && <Lede old={query.data} />}
    >
      <Loaded query={query} skeleton={<Skeleton lines={10} />} missing={<NoSuchClient clientId={clientId} />}>
        {(old) => <Rotation old={old} onCreate={() => setCreating(true)} />}
      </Loaded>
      {creating && mayManage && query.data && (
        <CreateClient replaces={query.data} onClose={() => setCreating(false)} />
      )}
    </Page>
  )
}

function titleOf(old: OAuthClient | undefined): string {
  if (!old) return 'Rotate the secret'
  return old.status === 'Revoked' ? 'Rotation' : rotationName(old)
}

function Lede({ old }: { old: OAuthClient }) {
  return (
    <>
      A client keeps its {credentialName(old)} for life, so a new one, with its own id, takes the place of{' '}
      <bdi className="font-strong">{old.name}</bdi>.{' '}
      {old.workload &&
        'The platform renews its tokens, so this is needed only for other scopes or before it expires. '}
      {!hasExpired(old, new Date()) &&
        `Both work until the old one is revoked${old.expiresAt ? ' or expires' : ''}. `}
      <DocsLink to={DOCS.rotation}>How to rotate</DocsLink>
    </>
  )
}

interface RotationProps {
  old: OAuthClient
  onCreate: () => void
}

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
      <div className="grid gap-6 empty:hidden">
        <RevokedNotice client={old} rotating />
        <ExpiryNotice client={old} />
        {!rotation && (
          <Notice tone="warn" title="The use of these clients cannot be read right now" live>
            What is not known is shown as –.
          </Notice>
        )}
        {replacement && <Chain old={old} replacement={replacement} />}
        {replacement && <LostScopes old={old} replacement={replacement} />}
        {old.status === 'Active' && replaced && rotation?.replacement?.firstUsedAt === null && (
          <Notice tone="info" title="Next: deploy the replacement">
            Put the new {CREDENTIAL_WORDS[replacement.authMethod].parts} where your system has the old one.{' '}
            {say`The first token of ${replacement.name} appears here within seconds.`}
          </Notice>
        )}
      </div>
      {mayManage && old.status === 'Active' && !replaced && (
        <Section id="create-title" title="Create a replacement">
          {replacement && (
            <p>
              The last replacement, <bdi>{replacement.name}</bdi>, was revoked.
            </p>
          )}
          <p>It gets its own id. You choose its scopes and how it authenticates.</p>
          <p>
            <Button variant="primary" onClick={onCreate}>
              Create replacement
            </Button>
          </p>
        </Section>
      )}
      <RotationSeen old={old} replacement={replacement} rotation={rotation} />
      {mayManage && old.status === 'Active' && replaced && <RevokeOld old={old} />}
    </>
  )
}

type Both = Record<'old' | 'replacement', OAuthClient>

function LostScopes({ old, replacement }: Both) {
  const lost = inOrder(old.scopes.filter((scope) => !replacement.scopes.includes(scope)))
  if (lost.length === 0) return null
  return (
    <p>{say`${replacement.name} lacks ${listed(lost.map((scope) => <code key={scope}>{scope}</code>))}.`}</p>
  )
}

/** The rotations before and after this one. */
function Chain({ old, replacement }: Both) {
  const { to } = useCompany()
  const linkRotation = (clientId: string, text: string) => (
    <Link className="touch" href={to('rotation', clientId)}>
      {text}
    </Link>
  )
  if (old.replaces === null && replacement.replacedBy === null) return null
  return (
    <p className="flex flex-wrap gap-x-5">
      {old.replaces && linkRotation(old.replaces, 'The rotation before')}
      {replacement.replacedBy && linkRotation(replacement.clientId, 'The rotation after')}
    </p>
  )
}
