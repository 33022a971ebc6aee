import { renameClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { ApiProblem, Offline } from '../api/request.ts'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useForm } from '../ui/form.ts'
import { type Failure, OFFLINE, useSubmission } from '../ui/submit.ts'
import { fieldErrors, nameError } from './client-name.ts'
import { credentialName } from './credential.tsx'

/** A name is only a label: nothing that decides access changes with it. */
export function RenameClient({ client, onClose }: { client: OAuthClient; onClose: () => void }) {
  const { vendorId } = useCompany()
  const form = useForm<'name'>({
    submission: useSubmission(explained),
    check: ({ name }) => nameError(name),
    async send({ name }) {
      await renameClient(vendorId, client.clientId, name)
      onClose()
    },
    refused: fieldErrors,
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
        defaultValue={client.name}
        onChange={() => form.forgive('name')}
      />
    </FormDialog>
  )
}

function explained(error: unknown): Failure {
  if (error instanceof Offline) return OFFLINE
  const text = error instanceof ApiProblem ? error.message : 'No answer came. It is safe to try again.'
  return { title: 'The name was not saved', text }
}
