import type { FormEvent, ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Dialog } from './Dialog.tsx'
import { FailureNotice } from './FailureNotice.tsx'
import type { Failure } from './submit.ts'

interface FormDialogProps {
  title: ReactNode
  description: ReactNode
  /** From useForm. */
  form: {
    busy: boolean
    failure: Failure | undefined
    submit: (event: FormEvent<HTMLFormElement>) => unknown
  }
  /** The words of the button that sends the form. */
  action: ReactNode
  /** The action takes something away. */
  danger?: boolean
  /** The words of the button that leaves without sending. */
  cancel?: string
  /** Why the dialog cannot be left while the form is sent. Without it, leaving does not stop what was sent. */
  held?: string
  onClose: () => void
  children: ReactNode
}

/** A dialog with a form, why it failed last, and the buttons that leave or send it. */
export function FormDialog(props: FormDialogProps) {
  const {
    title,
    description,
    form,
    action,
    danger = false,
    cancel = 'Cancel',
    held,
    onClose,
    children,
  } = props
  return (
    <Dialog title={title} description={description} onClose={onClose} held={form.busy}>
      <form className="dialog-form" onSubmit={form.submit} noValidate>
        {children}
        <FailureNotice failure={form.failure} />
        <footer className="dialog-foot">
          <Button variant="quiet" unavailable={form.busy ? held : undefined} onClick={onClose}>
            {cancel}
          </Button>
          <Button type="submit" variant={danger ? 'danger' : 'primary'} busy={form.busy}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
