import { type ComponentProps, type ReactNode, useId } from 'react'

interface Labelled {
  label: string
  hint?: ReactNode
  /** What is wrong with the value, as a sentence. */
  error?: ReactNode
}

interface ControlProps {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': true | undefined
}

/** The place of a hint, or of what is wrong. */
export const noteClass = (error: ReactNode): string =>
  `small min-h-[19px] scroll-my-24 ${error ? 'text-bad' : 'text-ink-3'}`

/** A labelled control with its hint, or, in the hint's place, what is wrong. */
export function Labelled({
  label,
  hint,
  error,
  children,
}: Labelled & { children: (control: ControlProps) => ReactNode }) {
  const id = useId()
  const noteId = `${id}note`
  const note = error || hint
  return (
    <div className="field grid gap-1.5">
      <label className="font-semibold" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': note ? noteId : undefined,
        'aria-invalid': error ? true : undefined,
      })}
      <p className={noteClass(error)} id={noteId} aria-live="polite">
        {note}
      </p>
    </div>
  )
}

interface FieldProps extends ComponentProps<'input'>, Labelled {
  /** Shows the value in the font of code. */
  code?: boolean
}

/** A labelled input. */
export const Field = ({ label, hint, error, code, ...input }: FieldProps) => (
  <Labelled label={label} hint={hint} error={error}>
    {(control) => (
      <input {...input} {...control} className={code ? 'input font-mono text-[14px]' : 'input'} />
    )}
  </Labelled>
)

/** A labelled area for pasted code. */
export const CodeArea = ({ label, hint, error, ...area }: ComponentProps<'textarea'> & Labelled) => (
  <Labelled label={label} hint={hint} error={error}>
    {(control) => (
      <textarea
        {...area}
        {...control}
        className="input font-mono text-[14px]"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
      />
    )}
  </Labelled>
)
