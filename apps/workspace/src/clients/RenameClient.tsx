import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { clientChanged, renameClient } from '../api/clients.ts'
import type { OAuthClient } from '../api/contract.ts'
import { ApiProblem, Offline } from '../api/request.ts'
import { useCompany } from '../shell/company.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { Field } from '../ui/Field.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { fieldErrors, nameError } from './client-name.ts'

/** A name is only a label: nothing that decides access changes with it. */
export function RenameClient({ client, onClose }: { client: OAuthClient; onClose: () => void }) {
  const { vendorId } = useCompany()
  const queryClient = useQueryClient()
  const nameRef = useRef<HTMLInputElement>(null)
  const [wrong, setWrong] = useState<string>()
  const { run, busy, failure } = useSubmission((error) => {
    setWrong(fieldErrors(error).name)
    return explained(error)
  })

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const name = nameRef.current?.value.trim() ?? ''
    const error = nameError(name).name
    setWrong(error)
    if (error) return nameRef.current?.focus()
    await run(async () => {
      clientChanged(queryClient, vendorId, await renameClient(vendorId, client.clientId, name))
      onClose()
    })
  }

  return (
    <Dialog
      open
      title="Rename the client"
      description="Only your company sees the name. The id, the secret and the scopes stay as they are."
      onClose={onClose}
      held={busy}
    >
      <form className="dialog-form" onSubmit={submit} noValidate>
        <Field label="Name" error={wrong}>
          {(control) => (
            <input
              {...control}
              ref={nameRef}
              name="name"
              dir="auto"
              autoComplete="off"
              defaultValue={client.name}
              onChange={() => setWrong(undefined)}
            />
          )}
        </Field>
        <FailureNotice failure={failure} />
        <footer className="dialog-foot">
          <Button variant="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={busy}>
            Save the name
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

function explained(error: unknown): Failure {
  if (error instanceof Offline)
    return { title: 'You are offline', text: 'Nothing was sent. Try again once you are connected.' }
  const text = error instanceof ApiProblem ? error.message : 'No answer came. It is safe to try again.'
  return { title: 'The name was not saved', text }
}
