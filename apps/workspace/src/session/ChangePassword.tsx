import { ApiProblem, retryIn } from '../api/request.ts'
import { changePassword, useSignedIn } from '../api/session.ts'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useForm } from '../ui/form.ts'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'

const PASSWORD_MIN_CHARACTERS = 12

/** The person's own password; their other sessions end with the old one. */
export function ChangePassword({ onClose }: { onClose: () => void }) {
  const { user } = useSignedIn()
  const form = usePasswordChange(onClose)
  return (
    <FormDialog
      title="Change your password"
      description="You stay signed in here. All your other sessions end."
      onClose={onClose}
      form={form}
      action="Change password"
    >
      <Field
        label="Current password"
        error={form.errors.currentPassword}
        name="currentPassword"
        type="password"
        autoComplete="current-password"
      />
      <Field
        label="New password"
        hint={`At least ${PASSWORD_MIN_CHARACTERS} characters, such as four random words.`}
        error={form.errors.newPassword}
        name="newPassword"
        type="password"
        autoComplete="new-password"
      />
      {/* A password manager has to know whose password it is. */}
      <input type="hidden" name="username" autoComplete="username" value={user.email} />
    </FormDialog>
  )
}

type FieldName = 'currentPassword' | 'newPassword'

function usePasswordChange(onClose: () => void) {
  const toast = useToast()
  return useForm<FieldName>({
    submission: useSubmission(explained),
    check({ currentPassword, newPassword }) {
      const missing = PASSWORD_MIN_CHARACTERS - [...newPassword].length
      return {
        ...(currentPassword === '' && { currentPassword: 'Enter your current password.' }),
        ...(missing > 0 && {
          newPassword: `At least ${PASSWORD_MIN_CHARACTERS} characters; ${missing} more.`,
        }),
      }
    },
    async send({ currentPassword, newPassword }) {
      await changePassword({ currentPassword, newPassword })
      onClose()
      toast('Your password is changed')
    },
    refused(error) {
      const [first] = error instanceof ApiProblem ? error.errors : []
      const name = first?.pointer.slice(1)
      if (name === 'currentPassword') return { currentPassword: `This ${first?.detail}.` }
      return name === 'newPassword' ? { newPassword: `It ${first?.detail}.` } : {}
    },
  })
}

function explained(error: unknown): Failure {
  if (error instanceof ApiProblem && error.status === 429)
    return { title: 'Too many attempts', text: `Try again ${retryIn(error)}.` }
  if (error instanceof ApiProblem && error.errors.length > 0)
    return { title: 'Your password is unchanged', text: 'Correct the marked fields.' }
  return { title: 'Your password may or may not be changed', text: (error as Error).message }
}
