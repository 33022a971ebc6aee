import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { clientChanged, revokeClient, useClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { useCompany } from '../shell/company.ts'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { Notice } from '../ui/Notice.tsx'
import { plain } from '../ui/plain.ts'
import { useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'

export interface RevokeClientProps {
  client: OAuthClient
  onClose: () => void
  /** What speaks against doing it now. */
  caution?: string | undefined
  onRevoked?: () => void
}

/** Revoking is final, so the name has to be typed; the client id does as well, for names that are hard to type. */
export function RevokeClient(props: RevokeClientProps) {
  const { client, onClose, caution } = props
  const form = useRevocation(props)
  return (
    <Dialog
      open
      title={
        <>
          Revoke <bdi>{client.name}</bdi>?
        </>
      }
      description="This cannot be undone. A revoked client never works again; you would have to create a new one."
      onClose={onClose}
      held={form.busy}
    >
      <form className="dialog-form" onSubmit={form.submit} noValidate>
        <ul className="facts">
          <li>
            It gets no more tokens: token requests fail with <code>invalid_client</code>.
          </li>
          <li>Tokens it already holds stop working at the same moment.</li>
          <li>
            <LastUse client={client} />
          </li>
        </ul>
        {caution && (
          <Notice tone="warn" title="It may still be in use">
            {caution}
          </Notice>
        )}
        <Field
          label="Type the client’s name to confirm"
          hint={
            <>
              <bdi className="strong">{client.name}</bdi>, or its id.
            </>
          }
          error={
            form.mismatch ? (
              <>
                That is not the name. It is <bdi className="strong">{client.name}</bdi>.
              </>
            ) : undefined
          }
        >
          {(control) => (
            <input
              {...control}
              ref={form.nameRef}
              name="confirmation"
              dir="auto"
              autoComplete="off"
              spellCheck={false}
              readOnly={form.busy}
            />
          )}
        </Field>
        {form.failure && (
          <Notice tone="bad" title={form.failure.title} live>
            {form.failure.text}
          </Notice>
        )}
        <p className="revoke-progress" role="status">
          {form.busy && 'Revoking. Waiting until every server refuses it, which can take up to 6 seconds.'}
        </p>
        <footer className="dialog-foot">
          <Button
            variant="quiet"
            unavailable={form.busy ? 'It is being revoked.' : undefined}
            onClick={onClose}
          >
            Keep it
          </Button>
          <Button type="submit" variant="danger" busy={form.busy}>
            {form.busy ? 'Revoking…' : 'Revoke permanently'}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

function LastUse({ client }: { client: OAuthClient }) {
  const { vendorId } = useCompany()
  const { lastUsedAt, tokensIssued24h } = useClient(vendorId, client.clientId).data ?? client
  if (!lastUsedAt) return <>It has never been used.</>
  return (
    <>
      It last asked for a token{' '}
      <strong>
        <Ago at={lastUsedAt} />
      </strong>
      , and was issued {tokensIssued24h === 1 ? '1 token' : `${tokensIssued24h.toLocaleString('en')} tokens`}{' '}
      in the last 24 hours.
    </>
  )
}

function useRevocation({ client, onClose, onRevoked }: RevokeClientProps) {
  const { vendorId } = useCompany()
  const queryClient = useQueryClient()
  const toast = useToast()
  const nameRef = useRef<HTMLInputElement>(null)
  const [mismatch, setMismatch] = useState(false)
  const submission = useSubmission((error) => ({
    title: 'It is not revoked yet',
    text: `${(error as Error).message} Try again until it says Revoked.`,
  }))

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const typed = plain(nameRef.current?.value ?? '')
    const matches = typed === plain(client.name) || typed === client.clientId
    setMismatch(!matches)
    if (!matches) return nameRef.current?.focus()
    await submission.run(async () => {
      clientChanged(queryClient, vendorId, await revokeClient(vendorId, client.clientId))
      onClose()
      onRevoked?.()
      toast(
        <>
          <bdi>{client.name}</bdi> is revoked
        </>,
      )
    })
  }
  return { ...submission, nameRef, mismatch, submit }
}
