import { useQueryClient } from '@tanstack/react-query'
import { useId, useRef, useState } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { clientChanged, createClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { ApiProblem, Offline } from '../api/request.ts'
import { draftOf, keepDraft } from '../session/drafts.ts'
import { useCompany } from '../shell/company.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { Field } from '../ui/Field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/Notice.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { fieldErrors, nameError, nextName } from './client-name.ts'
import { setReveal } from './reveal.ts'
import { ScopeChoice } from './ScopeChoice.tsx'
import { Scopes } from './Status.tsx'

export interface CreateClientProps {
  onClose: () => void
  /** The client that the new one takes over from. */
  replaces?: OAuthClient
  /** Those of a replacement; default: the same as before. */
  scopes?: readonly Scope[]
}

export function CreateClient(props: CreateClientProps) {
  const { replaces } = props
  const form = useCreation(props)
  const narrower = replaces !== undefined && form.scopes.length < replaces.scopes.length
  return (
    <Dialog
      title={replaces ? 'Create the replacement' : 'Create a client'}
      description={
        replaces
          ? `It gets ${narrower ? 'fewer' : 'the same'} scopes, a new id and a new secret. Both clients work until you revoke the old one.`
          : 'Create one client per integration, so that you can revoke each on its own.'
      }
      onClose={form.close}
      held={form.busy}
    >
      {form.lost ? (
        <LostSecret client={form.lost} onClose={form.close} />
      ) : (
        <form className="dialog-form" onSubmit={form.submit} noValidate>
          <Field
            label="Name"
            hint="What it is for, such as “Warehouse reports”. Only your company sees it."
            error={form.errors.name}
            name="name"
            dir="auto"
            autoComplete="off"
            defaultValue={form.firstName}
            onChange={(event) => form.retype(event.target.value)}
          />
          {replaces ? (
            <GivenScopes
              scopes={form.scopes}
              title={narrower ? 'Scopes, fewer than before' : 'Scopes, the same as before'}
            />
          ) : (
            <ScopeChoice scopes={form.scopes} onChange={form.choose} error={form.errors.scopes} />
          )}
          <FailureNotice failure={form.failure} />
          <footer className="dialog-foot">
            <Button variant="quiet" onClick={form.close}>
              Cancel
            </Button>
            <Button type="submit" variant="primary" busy={form.busy}>
              {replaces ? 'Create replacement' : 'Create client'}
            </Button>
          </footer>
        </form>
      )}
    </Dialog>
  )
}

function GivenScopes({ scopes, title }: { scopes: OAuthClient['scopes']; title: string }) {
  const id = useId()
  return (
    <div className="field">
      <p className="field-title" id={id}>
        {title}
      </p>
      <Scopes scopes={scopes} />
    </div>
  )
}

/** The creation was repeated after an answer that never came: the client is there, its secret went with that answer. */
function LostSecret({ client, onClose }: { client: OAuthClient; onClose: () => void }) {
  return (
    <>
      <Notice tone="warn" title="Created, but its secret is lost" live>
        Your first try created <bdi>{client.name}</bdi>, but the answer with its secret never arrived, and a
        secret is sent only once. Revoke this client and create another.
      </Notice>
      <footer className="dialog-foot">
        <Button variant="primary" onClick={onClose}>
          Close
        </Button>
      </footer>
    </>
  )
}

/** Where the dialog's input is kept until it is sent or dismissed, so that the end of a session does not lose it. */
export const creationDraft = (vendorId: string, replaces?: OAuthClient): string =>
  `create-client ${vendorId} ${replaces?.clientId ?? ''}`

interface Draft {
  name: string
  scopes: Scope[]
}

function useCreation({ onClose, replaces, scopes: given = replaces?.scopes }: CreateClientProps) {
  const { vendorId } = useCompany()
  const queryClient = useQueryClient()
  const key = creationDraft(vendorId, replaces)
  const [first] = useState<Draft>(() => {
    const kept = draftOf(key)
    if (kept) return { ...JSON.parse(kept), ...(given && { scopes: given }) }
    return { name: replaces ? nextName(replaces.name) : '', scopes: given ?? [] }
  })
  const draft = useRef(first)
  const attempt = useRef({ body: '', key: '' })
  const [scopes, setScopes] = useState(first.scopes)
  const [lost, setLost] = useState<OAuthClient>()

  function keep(part: Partial<Draft>): void {
    draft.current = { ...draft.current, ...part }
    keepDraft(key, JSON.stringify(draft.current))
  }

  function close(): void {
    keepDraft(key, undefined)
    onClose()
  }

  /** The same input is the same creation, however often it is sent. */
  function keyFor(body: string): string {
    if (attempt.current.body !== body) attempt.current = { body, key: crypto.randomUUID() }
    return attempt.current.key
  }

  const form = useForm<'name' | 'scopes'>({
    submission: useSubmission(explained),
    check: ({ name }) => ({
      ...nameError(name),
      ...(scopes.length === 0 && { scopes: 'Choose at least one scope.' }),
    }),
    async send({ name }) {
      const { clientSecret, ...client } = await createClient(
        vendorId,
        { name, scopes, replaces: replaces?.clientId },
        keyFor(JSON.stringify([name, scopes])),
      )
      clientChanged(queryClient, vendorId, client)
      if (replaces) clientChanged(queryClient, vendorId, { ...replaces, replacedBy: client.clientId })
      if (clientSecret === null) return setLost(client)
      close()
      setReveal({ vendorId, client, clientSecret, replaces })
    },
    refused: fieldErrors,
  })
  return {
    ...form,
    firstName: first.name,
    scopes,
    choose(next: Scope[]) {
      keep({ scopes: next })
      setScopes(next)
      form.forgive('scopes')
    },
    retype(name: string) {
      keep({ name })
      form.forgive('name')
    },
    lost,
    close,
  }
}

function explained(error: unknown): Failure {
  if (error instanceof Offline)
    return { title: 'You are offline', text: 'Nothing was sent. Try again once you are connected.' }
  if (!(error instanceof ApiProblem)) {
    return {
      title: 'No answer came',
      text: 'The client may or may not have been created. Try again: it is never created twice.',
    }
  }
  if (error.code === 'client_limit_reached') {
    return {
      title: 'Your company has 100 active clients',
      text: 'First revoke one that you no longer need.',
    }
  }
  if (error.errors.some(({ pointer }) => pointer === '/replaces')) {
    return {
      title: 'This client can no longer be replaced',
      text: 'It has just been revoked, or a teammate has already created its replacement. Cancel to see which.',
    }
  }
  return { title: 'The client was not created', text: error.message }
}
