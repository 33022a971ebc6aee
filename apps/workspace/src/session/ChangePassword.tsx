import { sendPasswordChange, useSignedIn } from '../api/session.ts'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { NEW_PASSWORD_HINT, newPasswordError } from '../ui/form.ts'
import { useForm } from '../ui/sent-form.ts'
import { useToast } from '../ui/Toaster.tsx'

/** Changes the person's own password, which ends their other sessions. */
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
        hint={NEW_PASSWORD_HINT}
        error={form.errors.newPassword}
        name="newPassword"
        type="password"
        autoComplete="new-password"
      />
      {/* A password manager has to know whose password it is, and reads no field of the type hidden. */}
      <input className="hidden" name="username" autoComplete="username" value={user.email} readOnly />
    </FormDialog>
  )
}

function usePasswordChange(onClose: () => void) {
  const toast = useToast()
  return useForm<'currentPassword' | 'newPassword'>({
    words: {
      title: 'Your password is unchanged',
      uncertain: 'Your password may or may not be changed',
    },
    check: ({ currentPassword, newPassword }) => ({
      currentPassword: currentPassword === '' && 'Enter your current password.',
      newPassword: newPasswordError(newPassword),
    }),
    async send({ currentPassword, newPassword }) {
      await sendPasswordChange({ currentPassword, newPassword })
      onClose()
      toast('Your password is changed')
    },
    subjects: { currentPassword: 'This', newPassword: 'It' },
  })
}
