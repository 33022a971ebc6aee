import { type ReactNode, useId } from 'react'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { useUsage } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { DocsLink, ScopeName } from '../ui/DocsLink.tsx'
import { docsOfOAuthError } from '../ui/docs.ts'
import { Field, Labelled, noteClass, Select } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { type CreationOptions, useCreation } from './creation.ts'
import { dayAhead, hasExpired, NEVER } from './expiry.ts'
import { LastUse, MissingUses } from './LastUsed.tsx'
import { PublicKeyArea } from './PublicKeyArea.tsx'
import { inOrder, SCOPE_GROUPS, SCOPE_WORDS } from './scopes.ts'
import { WorkloadClaims } from './WorkloadClaims.tsx'
import { WorkloadFields } from './WorkloadFields.tsx'

export function CreateClient(options: CreationOptions) {
  const { replaces, onClose } = options
  const form = useCreation(options)
  const { draft, errors, change } = form
  const fields = { draft, change }
  return (
    <FormDialog
      title={replaces ? 'Create the replacement' : 'Create a client'}
      description={
        replaces
          ? `It gets a new id.${hasExpired(replaces, new Date()) ? '' : ' Both clients work until you revoke the old one.'}`
          : 'Create one client per integration, so that you can revoke each on its own.'
      }
      onClose={onClose}
      form={form}
      action={replaces ? 'Create replacement' : 'Create client'}
    >
      <Field
        label="Name"
        hint="What it is for, such as “Warehouse reports”. Only your company sees it."
        error={errors.name}
        name="name"
        dir="auto"
        autoComplete="off"
        value={draft.name}
        onChange={({ target }) => change({ name: target.value })}
      />
      <ScopeFields {...fields} error={errors.scopes} replaces={replaces} />
      <AuthFields {...fields} error={errors.publicKey} />
      {draft.auth === 'workload_identity' &&
        (replaces?.workload ? (
          <>
            <p className="font-strong">Workload, the same as before</p>
            <WorkloadClaims workload={replaces.workload} />
          </>
        ) : (
          <WorkloadFields
            draft={draft.workload}
            onChange={(workload) => change({ workload })}
            errors={errors}
          />
        ))}
      <ExpiryFields {...fields} error={errors.expiresAt} />
    </FormDialog>
  )
}

const FIELDSET = 'grid min-w-0 gap-2.5'
const OPTION = 'border-b border-line hover:bg-sunk has-checked:bg-mark-soft has-checked:outlined'
const OPTION_LABEL = 'grid cursor-pointer grid-cols-[auto_1fr] gap-3 px-1 py-2.25'

interface FieldsProps extends Pick<ReturnType<typeof useCreation>, 'draft' | 'change'> {
  error: ReactNode
}

/** Nothing is chosen beforehand, except what the client has that is replaced. */
function ScopeFields(props: FieldsProps & { replaces: OAuthClient | undefined }) {
  const { draft, change, error, replaces } = props
  const { scopes } = draft
  const id = useId()
  const { data, isError } = useUsage(replaces?.clientId ?? null)
  const uses = isError ? [] : data?.scopes
  const dropped = inOrder(replaces?.scopes ?? []).filter((scope) => !scopes.includes(scope))
  const toggle = (scope: Scope, on: boolean) =>
    change({ scopes: SCOPES.filter((item) => (item === scope ? on : scopes.includes(item))) })
  return (
    <fieldset className={FIELDSET} aria-describedby={`${id}note`}>
      <legend className="pb-1">Scopes</legend>
      <p className="text-sm text-muted">
        Choose only what it needs: scopes limit what a stolen secret or key can do. To change them later,
        replace the client.
        {replaces && <MissingUses client={replaces} />}
      </p>
      {SCOPE_GROUPS.map((group) => (
        <div key={group.title} className="grid">
          <p className="border-b border-line-strong pb-1 text-sm text-muted">{group.title}</p>
          {group.scopes.map((scope) => (
            <div
              key={scope}
              className={`${OPTION} grid items-start gap-x-3 gap-y-0.5 sm:grid-cols-[1fr_auto]`}
            >
              <label className={`${OPTION_LABEL} pb-0.5 sm:pb-2.25`}>
                <input
                  className="mt-0.5"
                  type="checkbox"
                  name="scopes"
                  aria-invalid={error ? true : undefined}
                  aria-describedby={error ? `${id}note` : undefined}
                  value={scope}
                  checked={scopes.includes(scope)}
                  onChange={(event) => toggle(scope, event.target.checked)}
                />
                <span className="grid">
                  <span className="font-strong">{SCOPE_WORDS[scope].title}</span>
                  <span className="text-sm text-muted">{SCOPE_WORDS[scope].text}</span>
                  {uses && replaces?.scopes.includes(scope) && (
                    <span className="text-sm text-ink-2">
                      <LastUse client={replaces} at={uses.find((use) => use.scope === scope)?.lastUsedAt} />
                    </span>
                  )}
                </span>
              </label>
              <span className="ps-8.5 pb-2.25 text-md text-ink-2 sm:px-1 sm:py-2.5">
                <ScopeName standalone scope={scope} />
              </span>
            </div>
          ))}
        </div>
      ))}
      <p className={noteClass(error)} id={`${id}note`} role="status">
        {error}
        {dropped.length > 0 && (
          <>
            {' '}
            Token requests that name {new Intl.ListFormat('en', { type: 'disjunction' }).format(dropped)} will
            fail with{' '}
            <DocsLink to={docsOfOAuthError('invalid_scope')}>
              <code>invalid_scope</code>
            </DocsLink>
            .
          </>
        )}
      </p>
    </fieldset>
  )
}

const AUTH_OPTIONS = [
  {
    auth: 'client_secret',
    title: 'Secret',
    text: 'Sent with each token request. Works with every OAuth library.',
  },
  {
    auth: 'private_key_jwt',
    title: 'Key pair, created in this browser',
    text: 'You save the private key as a file. It is never sent, not even to us.',
  },
  {
    auth: 'own_key',
    title: 'Key pair of your own',
    text: 'You paste the public key. The private key stays where it is.',
  },
  {
    auth: 'workload_identity',
    title: 'No secret: trust a platform',
    text: 'It sends a token of GitHub Actions, GitLab, Kubernetes or another platform. There is nothing to keep.',
  },
] as const

/** @param props.error what is wrong with the public key that was pasted. */
function AuthFields({ draft, change, error }: FieldsProps) {
  const id = useId()
  return (
    <fieldset className={FIELDSET} aria-describedby={`${id}note`}>
      <legend className="pb-1">How will it authenticate?</legend>
      <p className="text-sm text-muted" id={`${id}note`}>
        With a key pair or a platform, we store nothing that could be used to impersonate the client. This
        cannot be changed later.
      </p>
      <div className="grid">
        {AUTH_OPTIONS.map(({ auth, title, text }) => (
          <label key={auth} className={`${OPTION} ${OPTION_LABEL}`}>
            <input
              className="mt-0.5"
              type="radio"
              name="auth"
              checked={draft.auth === auth}
              onChange={() => change({ auth })}
            />
            <span className="grid">
              <span className="font-strong">{title}</span>
              <span className="text-sm text-muted">{text}</span>
            </span>
          </label>
        ))}
      </div>
      {draft.auth === 'own_key' && (
        <PublicKeyArea
          error={error}
          value={draft.publicKey}
          onText={(publicKey) => change({ publicKey })}
          label="Public key"
          hint="P-256, Ed25519 or RSA, as PEM or as a JWK. Of a certificate, only its key is kept."
          name="publicKey"
          rows={5}
          placeholder="-----BEGIN PUBLIC KEY-----"
        />
      )}
    </fieldset>
  )
}

const LIFETIMES = [
  { days: 90, label: 'In 90 days' },
  { days: 365, label: 'In a year' },
]

function ExpiryFields({ draft: { lastDay }, change, error }: FieldsProps) {
  const { clock } = useCompany()
  const now = new Date()
  const options = LIFETIMES.map(({ days, label }) => ({ label, day: dayAhead(clock, now, days) }))
  const isListed = lastDay === NEVER || options.some(({ day }) => day === lastDay)
  return (
    <div className="grid grid-cols-[repeat(auto-fit,minmax(200px,1fr))] items-start gap-x-4 gap-y-4.5">
      <Labelled label="Expires" hint={lastDay === NEVER && 'It works until someone revokes it.'}>
        {(control) => (
          <Select
            {...control}
            value={isListed ? lastDay : ''}
            onChange={({ target }) => change({ lastDay: target.value })}
          >
            <option value={NEVER}>Never</option>
            {options.map(({ day, label }) => (
              <option key={day} value={day}>
                {label}
              </option>
            ))}
            <option value="">On a day that you choose</option>
          </Select>
        )}
      </Labelled>
      {lastDay !== NEVER && (
        <Field
          type="date"
          label="Last day"
          hint="It works until the end of this day. This cannot be changed later."
          error={error}
          name="expiresAt"
          min={dayAhead(clock, now)}
          value={lastDay}
          onChange={({ target }) => change({ lastDay: target.value })}
        />
      )}
    </div>
  )
}
