import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useRef, useState } from 'react'
import type { Scope } from '#shared/oauth/scopes.ts'
import { clientChanged, createClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { ApiProblem } from '../api/request.ts'
import { useCompany } from '../shell/company.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { Notice } from '../ui/Notice.tsx'
import { setReveal } from './reveal.ts'
import { ScopeChoice } from './ScopeChoice.tsx'
import { Scopes } from './Status.tsx'

const NAME_MAX = 100

export interface CreateClientProps {
  onClose: () => void
  /** The client whose scopes the new one takes over. */
  replaces?: OAuthClient
  onCreated?: (client: OAuthClient) => void
}

export function CreateClient({ onClose, replaces, onCreated }: CreateClientProps) {
  const form = useCreation({ onClose, replaces, onCreated })
  return (
    <Dialog
      open
      title={replaces ? 'Create the replacement' : 'Create a client'}
      description={
        replaces
          ? 'It gets the same scopes and a secret of its own. Both clients work until you revoke the old one.'
          : 'One client for each integration, so that each can be revoked on its own.'
      }
      onClose={onClose}
      held={form.busy}
    >
      {form.lost ? (
        <LostSecret client={form.lost} onClose={onClose} />
      ) : (
        <form className="dialog-form" onSubmit={form.submit} noValidate>
          <Field
            label="Name"
            hint="What it is for, such as “Warehouse reports”. Only your company sees it."
            error={form.errors.name}
          >
            {(control) => (
              <input
                {...control}
                ref={form.nameRef}
                name="name"
                dir="auto"
                autoComplete="off"
                defaultValue={replaces ? nextName(replaces.name) : ''}
                onChange={() => form.forgive('name')}
              />
            )}
          </Field>
          {replaces ? (
            <SameScopes scopes={replaces.scopes} />
          ) : (
            <ScopeChoice scopes={form.scopes} onChange={form.choose} error={form.errors.scopes} />
          )}
          {form.failure && (
            <Notice tone="bad" title={form.failure.title} live>
              {form.failure.text}
            </Notice>
          )}
          <footer className="dialog-foot">
            <Button variant="quiet" onClick={onClose}>
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

function SameScopes({ scopes }: { scopes: OAuthClient['scopes'] }) {
  const id = useId()
  return (
    <div className="field">
      <p className="field-title" id={id}>
        Scopes, as before
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
        <bdi>{client.name}</bdi> was created by the first try, whose answer did not reach this page. A secret
        is answered only once. Revoke this client and create another.
      </Notice>
      <footer className="dialog-foot">
        <Button variant="primary" onClick={onClose}>
          Close
        </Button>
      </footer>
    </>
  )
}

interface Failure {
  title: string
  text: string
}

function useCreation({
  onClose,
  replaces,
  onCreated,
}: {
  onClose: () => void
  replaces: OAuthClient | undefined
  onCreated: CreateClientProps['onCreated']
}) {
  const { vendorId } = useCompany()
  const queryClient = useQueryClient()
  const nameRef = useRef<HTMLInputElement>(null)
  const attempt = useRef({ body: '', key: '' })
  const [scopes, setScopes] = useState<Scope[]>(replaces?.scopes ?? [])
  const [errors, setErrors] = useState<{ name?: string; scopes?: string }>({})
  const [failure, setFailure] = useState<Failure>()
  const [lost, setLost] = useState<OAuthClient>()
  const [busy, setBusy] = useState(false)

  /** What is being changed is not called wrong any more. */
  const forgive = (field: 'name' | 'scopes') => setErrors(({ [field]: _, ...others }) => others)

  function choose(next: Scope[]): void {
    setScopes(next)
    forgive('scopes')
  }

  /** The same input is the same creation, however often it is sent. */
  function keyFor(body: string): string {
    if (attempt.current.body !== body) attempt.current = { body, key: crypto.randomUUID() }
    return attempt.current.key
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (busy) return
    const name = nameRef.current?.value.trim() ?? ''
    const wrong = { ...nameError(name), ...(scopes.length === 0 && { scopes: 'Choose at least one scope.' }) }
    setErrors(wrong)
    if (wrong.name) return nameRef.current?.focus()
    if (wrong.scopes) return
    setBusy(true)
    setFailure(undefined)
    try {
      const { clientSecret, ...client } = await createClient(
        vendorId,
        { name, scopes },
        keyFor(JSON.stringify([name, scopes])),
      )
      clientChanged(queryClient, vendorId, client)
      if (clientSecret === undefined) return setLost(client)
      onClose()
      setReveal({ vendorId, client, clientSecret, replaces })
      onCreated?.(client)
    } catch (error) {
      setFailure(explained(error))
      setErrors(fieldErrors(error))
    } finally {
      setBusy(false)
    }
  }
  return { nameRef, scopes, choose, forgive, errors, failure, lost, busy, submit }
}

function nameError(name: string): { name?: string } {
  const length = [...name].length
  if (length === 0) return { name: 'Give it a name.' }
  return length > NAME_MAX ? { name: `At most ${NAME_MAX} characters; this has ${length}.` } : {}
}

function fieldErrors(error: unknown): { name?: string; scopes?: string } {
  if (!(error instanceof ApiProblem)) return {}
  const about = (pointer: string) => error.errors.find((each) => each.pointer.startsWith(pointer))?.detail
  const name = about('/name')
  const scopes = about('/scopes')
  return {
    ...(name && { name: `The name ${name}.` }),
    ...(scopes && { scopes: `The choice of scopes ${scopes}.` }),
  }
}

function explained(error: unknown): Failure {
  if (!(error instanceof ApiProblem)) {
    return {
      title: 'No answer came',
      text: 'The client may or may not have been created. Try again: it will not be created twice.',
    }
  }
  if (error.code === 'client_limit_reached') {
    return {
      title: 'Your company has 100 active clients',
      text: 'Revoke one that is no longer needed first.',
    }
  }
  return { title: 'The client was not created', text: error.message }
}

/** "Warehouse", "Warehouse 2", "Warehouse 3", within the length that a name may have. */
export function nextName(name: string): string {
  const [, stem = name, number] = /^(.*?)(?: (\d{1,4}))?$/s.exec(name) ?? []
  const suffix = ` ${Number(number ?? 1) + 1}`
  return [...stem].slice(0, NAME_MAX - suffix.length).join('') + suffix
}
