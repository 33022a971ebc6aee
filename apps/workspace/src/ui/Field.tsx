import { type ComponentProps, type ReactNode, useId } from 'react'

interface FieldProps extends ComponentProps<'input'> {
  label: string
  hint?: ReactNode
  /** What is wrong with the value, as a sentence. */
  error?: ReactNode
  /** Shows the value in the font of code. */
  code?: boolean
}

/** A labelled input with its hint, or, in the hint's place, what is wrong. */
export function Field({ label, hint, error, code, ...input }: FieldProps) {
  const id = useId()
  const noteId = `${id}note`
  const note = error || hint
  return (
    <div className={error ? 'field field-wrong' : 'field'}>
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        className={code ? 'input input-code' : 'input'}
        aria-describedby={note ? noteId : undefined}
        aria-invalid={error ? true : undefined}
      />
      <p className="field-note" id={noteId} aria-live="polite">
        {note}
      </p>
    </div>
  )
}
