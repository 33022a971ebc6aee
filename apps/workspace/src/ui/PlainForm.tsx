import type { ReactNode } from 'react'
import { Button } from './Button.tsx'
import type { SentForm } from './FormDialog.tsx'
import { FailureNotice } from './Notice.tsx'

interface PlainFormProps {
  form: SentForm
  /** The words of its button. */
  action: string
  children: ReactNode
}

/** The form of a page outside a company, below why it failed last. */
export const PlainForm = ({ form, action, children }: PlainFormProps) => (
  <>
    <FailureNotice failure={form.failure} />
    <form className="grid gap-2" onSubmit={form.submit} noValidate>
      {children}
      <Button type="submit" variant="primary" className="w-full" busy={form.isPending}>
        {action}
      </Button>
    </form>
  </>
)
