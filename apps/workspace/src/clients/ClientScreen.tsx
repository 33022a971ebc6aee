import { Link, useLocation } from 'wouter'
import { actorName } from '#shared/rules/actors.ts'
import { sendClientName, useClient, useIssuers, useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Page } from '../shell/Page.tsx'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Copyable } from '../ui/CopyButton.tsx'
import { ScopeName } from '../ui/DocsLink.tsx'
import { useDraft } from '../ui/draft.ts'
import { Fact } from '../ui/Fact.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { RotateIcon } from '../ui/icons.tsx'
import { Loaded } from '../ui/Loaded.tsx'
import { Moment } from '../ui/Moment.tsx'
import { Notice } from '../ui/Notice.tsx'
import { useTimed } from '../ui/now.ts'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { nameError } from './client-name.ts'
import { credentialName, rotationName } from './credential.ts'
import { ExpiryNotice } from './ExpiryNotice.tsx'
import { hasExpired } from './expiry.ts'
import { FailingNotice } from './Failing.tsx'
import { FoundFact, FoundNotice } from './FoundSecrets.tsx'
import { LastUse, LastUsed, MissingUses } from './LastUsed.tsx'
import { NoSuchClient } from './NoSuchClient.tsx'
import { type Pair, rotationPair } from './pair.ts'
import { type ClientWorkload, detectPlatform, PLATFORMS } from './platforms.ts'
import { ReplaceKeys } from './ReplaceKeys.tsx'
import { Requests } from './Requests.tsx'
import { RevokeClient } from './RevokeClient.tsx'
import { RevokedNotice } from './RevokedNotice.tsx'
import { Status } from './Status.tsx'
import { inOrder, SCOPE_WORDS } from './scopes.ts'
import { UsageSection } from './UsageSection.tsx'
import { UseIt } from './UseIt.tsx'
import { CompareToken } from './WorkloadClaims.tsx'

export function ClientScreen({ clientId }: { clientId: string }) {
  const company = useCompany()
  const query = useClient(clientId)
  const client = query.data
  const pair = usePair(client)
  const [revoking, setRevoking] = useDraft('revoking', false)
  const [renaming, setRenaming] = useDraft('renaming', false)
  const [, navigate] = useLocation()
  return (
    <Page
      title={client?.name ?? 'OAuth2 client'}
      heading={client && <bdi>{client.name}</bdi>}
      back={{ to: company.to('clients'), label: 'OAuth2 Clients' }}
      actions={
        client?.status === 'Active' && (
          <>
            <Button variant="quiet" onClick={() => setRenaming(true)}>
              Rename
            </Button>
            {pair === undefined && (
              <Button icon={<RotateIcon />} onClick={() => navigate(company.to('rotation', clientId))}>
                {rotationName(client)}
              </Button>
            )}
            <Button variant="danger" onClick={() => setRevoking(true)}>
              Revoke
            </Button>
          </>
        )
      }
    >
      <Loaded query={query} skeleton={<Skeleton lines={8} />} missing={<NoSuchClient clientId={clientId} />}>
        {(loaded) => (
          <>
            <div className="grid grid-cols-1 gap-6">
              <FoundNotice client={loaded} rotating={pair?.role === 'old'} />
              {pair && <InRotation client={loaded} pair={pair} />}
              <FailingNotice client={loaded} />
              <ExpiryNotice client={loaded} />
              <RevokedNotice client={loaded} />
              <ClientFacts client={loaded} />
            </div>
            {loaded.status === 'Active' && loaded.lastUsedAt === null && !hasExpired(loaded, new Date()) && (
              <UseIt client={loaded} />
            )}
            <UsageSection client={loaded} />
            <Requests clientId={loaded.clientId} />
          </>
        )}
      </Loaded>
      {renaming && client && <RenameClient client={client} onClose={() => setRenaming(false)} />}
      {revoking && client?.status === 'Active' && (
        <RevokeClient client={client} onClose={() => setRevoking(false)} />
      )}
    </Page>
  )
}

/** A name is only a label: nothing that decides access changes with it. */
function RenameClient({ client, onClose }: { client: OAuthClient; onClose: () => void }) {
  const { vendorId } = useCompany()
  const [draft, setDraft] = useDraft('new name', client.name)
  const form = useForm<'name'>({
    words: { title: 'The name was not saved', uncertain: 'The name may or may not have been saved' },
    check: ({ name }) => ({ name: nameError(name) }),
    async send({ name }) {
      await sendClientName(vendorId, client.clientId, name)
      onClose()
    },
    subjects: { name: 'The name' },
  })
  return (
    <FormDialog
      title="Rename the client"
      description={`Only your company sees the name. The id, the ${credentialName(client)} and the scopes stay as they are.`}
      onClose={onClose}
      form={form}
      action="Save the name"
    >
      <Field
        label="Name"
        error={form.errors.name}
        name="name"
        dir="auto"
        autoComplete="off"
        value={draft}
        onChange={({ target }) => {
          setDraft(target.value)
          form.clearErrors('name')
        }}
      />
    </FormDialog>
  )
}

/** The rotation that the client is in, once what it replaces and what replaces it are known. */
function usePair(client: OAuthClient | undefined): Pair | undefined {
  const successor = useClient(client?.replacedBy ?? null).data
  const predecessor = useClient(client?.replaces ?? null).data
  const clients = [successor, predecessor]
  return client && rotationPair(client, (id) => clients.find((item) => item?.clientId === id))
}

function InRotation({ client, pair: { role, other } }: { client: OAuthClient; pair: Pair }) {
  const { to, mayManage } = useCompany()
  const [, navigate] = useLocation()
  const isOld = role === 'old'
  const link = (
    <Link href={to('client', other.clientId)}>
      <bdi>{other.name}</bdi>
    </Link>
  )
  return (
    <Notice
      tone="info"
      title={isOld ? say`This client is being replaced by ${link}` : say`This client replaces ${link}`}
      actions={
        <Button onClick={() => navigate(to('rotation', isOld ? client.clientId : other.clientId))}>
          {mayManage ? 'Continue the rotation' : 'Show the rotation'}
        </Button>
      }
    >
      {isOld && say`Replacement: ${<LastUse client={other} at={other.lastUsedAt} />}`}
    </Notice>
  )
}

function ClientFacts({ client }: { client: OAuthClient }) {
  const { to, mayManage } = useCompany()
  const isOver = useTimed((now) => hasExpired(client, now))
  return (
    <dl>
      <Fact name="Status">
        <Status client={client} />
      </Fact>
      <Fact name="Client id">
        <Copyable text={client.clientId} what="client id" />
      </Fact>
      <Proof client={client} />
      <FoundFact client={client} />
      {client.expiresAt && (
        <Fact name={isOver ? 'Expired' : 'Expires'}>
          <Moment at={client.expiresAt} />
        </Fact>
      )}
      <Fact name="Last used">
        <LastUsed client={client} />
        <MissingUses client={client} />
      </Fact>
      <Fact name="Added">{say`${<Moment at={client.createdAt} />} by ${actorName(client.createdBy)}`}</Fact>
      {client.replaces && <Predecessor clientId={client.replaces} />}
      <Fact name="Scopes">
        <ScopesInUse client={client} />
        {mayManage && client.status === 'Active' && client.replacedBy === null && (
          <Link className="touch" href={to('rotation', client.clientId)}>
            Replace the client to change its scopes
          </Link>
        )}
      </Fact>
    </dl>
  )
}

function Predecessor({ clientId }: { clientId: string }) {
  const { to } = useCompany()
  const { data: client } = useClient(clientId)
  return (
    <Fact name="Replaces">
      <Link className="touch" href={to('client', clientId)}>
        {client ? <bdi>{client.name}</bdi> : <code>{clientId}</code>}
      </Link>
    </Fact>
  )
}

const SCOPE = 'flex flex-wrap items-baseline gap-x-3 desk:col-span-3 desk:grid desk:grid-cols-subgrid'

/** When a token with each scope was last issued. */
function ScopesInUse({ client }: { client: OAuthClient }) {
  const { data, isError } = useUsage(client.clientId)
  const uses = isError ? [] : data?.scopes
  return (
    <ul className="gap-x-5 desk:grid desk:grid-cols-[auto_auto_1fr]">
      {inOrder(client.scopes).map((scope) => (
        <li key={scope} className={SCOPE}>
          <span>{SCOPE_WORDS[scope].title}</span>
          <span className="text-muted">
            <ScopeName standalone scope={scope} />
          </span>
          {client.lastUsedAt !== null && uses && (
            <span className="text-muted">
              <LastUse client={client} at={uses.find((use) => use.scope === scope)?.lastUsedAt} />
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

/** By what a person recognizes its secret, its key or its workload. */
function Proof({ client: { keyThumbprint, secretHint, workload } }: { client: OAuthClient }) {
  if (workload) return <WorkloadFacts workload={workload} />
  if (keyThumbprint !== null)
    return (
      <Fact name="Key thumbprint">
        <Copyable text={keyThumbprint} what="key thumbprint" />
      </Fact>
    )
  return (
    <Fact name="Client secret">
      {secretHint ? say`ends in ${<code>…{secretHint}</code>}` : 'shown once, when the client was created'}
    </Fact>
  )
}

/** Whose tokens a client sends, what is compared in them, and how old the issuer's keys are. */
function WorkloadFacts({ workload }: { workload: ClientWorkload }) {
  const [replacing, setReplacing] = useDraft('replacing keys', false)
  // None once no Active client trusts it.
  const issuer = useIssuers().data?.issuers.find((item) => item.issuer === workload.issuer)
  return (
    <>
      <Fact name={`Platform: ${PLATFORMS[detectPlatform(workload)].title}`}>
        <CompareToken workload={workload} />
      </Fact>
      {issuer && (
        <Fact name="Issuer’s keys">
          {issuer.keysFrom === 'pasted' ? 'Pasted' : 'Fetched'} <Ago at={issuer.keysAsOf} />:{' '}
          <code>{issuer.keyIds.join(', ')}</code>{' '}
          {issuer.keysFrom === 'pasted' && (
            <Button onClick={() => setReplacing(true)}>Replace the keys</Button>
          )}
          {replacing && <ReplaceKeys issuer={issuer.issuer} onClose={() => setReplacing(false)} />}
          {issuer.failing && (
            <p className="text-warn">
              {issuer.failing} A day after the last fetch, no token of this issuer is accepted.
            </p>
          )}
        </Fact>
      )}
    </>
  )
}
