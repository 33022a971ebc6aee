import type { FormEvent, ReactNode } from 'react'
import { Button } from './Button.tsx'
import { Dialog, DialogFoot } from './Dialog.tsx'
import type { ErrorMessage } from './explain.ts'
import { FailureNotice } from './Notice.tsx'

/** From useForm. */
export interface SentForm {
  isPending: boolean
  failure: ErrorMessage | undefined
  submit: (event: FormEvent<HTMLFormElement>) => unknown
}

interface FormDialogProps {
  title: ReactNode
  description: ReactNode
  form: SentForm
  /** The words of the button that sends the form. */
  action: ReactNode
  /** The action takes something away. */
  danger?: boolean
  /** The words of the button that leaves without sending. */
  cancel?: string
  onClose: () => void
  children: ReactNode
}

/** A dialog with a form, why it failed last, and the buttons that leave or send it. */
export function FormDialog({ form, onClose, ...props }: FormDialogProps) {
  // What was sent cannot be cancelled.
  const unavailable = form.isPending ? 'It has already been sent.' : undefined
  return (
    <Dialog title={props.title} description={props.description} onClose={onClose} canClose={!form.isPending}>
      <form className="grid grid-cols-1 gap-4.5" onSubmit={form.submit} noValidate>
        {props.children}
        <FailureNotice failure={form.failure} />
        <DialogFoot>
          <Button variant="quiet" unavailable={unavailable} onClick={onClose}>
            {props.cancel ?? 'Cancel'}
          </Button>
          <Button type="submit" variant={props.danger ? 'danger' : 'primary'} busy={form.isPending}>
            {props.action}
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  )
}
