import { type ReactNode, useId } from 'react'

export interface FieldControl {
  id: string
  className: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

export interface FieldProps {
  label: string
  hint?: ReactNode
  /** What is wrong with the value, as a sentence. */
  error?: ReactNode
  children: (control: FieldControl) => ReactNode
}

/** A labelled control with its hint, or, in the hint's place, what is wrong. */
export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const noteId = `${id}note`
  const note = error || hint
  return (
    <div className={error ? 'field field-wrong' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        className: 'input',
        'aria-describedby': note ? noteId : undefined,
        'aria-invalid': error ? true : undefined,
      })}
      <p className="field-note" id={noteId} aria-live="polite">
        {note}
      </p>
    </div>
  )
}
