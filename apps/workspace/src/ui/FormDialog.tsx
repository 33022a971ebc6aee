import type { FormEvent, ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Dialog, DialogFoot } from './Dialog.tsx'
import type { ErrorMessage } from './explain.ts'
import { FailureNotice } from './Notice.tsx'

interface FormDialogProps {
  title: ReactNode
  description: ReactNode
  /** From useForm. */
  form: {
    isPending: boolean
    failure: ErrorMessage | undefined
    submit: (event: FormEvent<HTMLFormElement>) => unknown
  }
  /** The words of the button that sends the form. */
  action: ReactNode
  /** The action takes something away. */
  danger?: boolean
  /** The words of the button that leaves without sending. */
  cancel?: string
  /** Why the dialog cannot be closed while the form is sent. By default it can, which does not cancel it. */
  pendingReason?: string
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
    danger,
    cancel = 'Cancel',
    pendingReason,
    onClose,
    children,
  } = props
  return (
    <Dialog title={title} description={description} onClose={onClose} canClose={!form.isPending}>
      <form className="grid grid-cols-1 gap-4.5" onSubmit={form.submit} noValidate>
        {children}
        <FailureNotice failure={form.failure} />
        <DialogFoot>
          <Button variant="quiet" unavailable={form.isPending ? pendingReason : undefined} onClick={onClose}>
            {cancel}
          </Button>
          <Button type="submit" variant={danger ? 'danger' : 'primary'} busy={form.isPending}>
            {action}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  )
}
