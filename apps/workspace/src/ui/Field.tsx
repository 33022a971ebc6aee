import { type ComponentProps, type ReactNode, useId } from 'react'

interface Labelled {
  className?: string | undefined
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
  `min-h-4.75 scroll-my-24 text-sm ${error ? 'text-bad' : 'text-muted'}`

/** A labelled control with its hint, or, in the hint's place, what is wrong. */
export function Labelled({
  className = '',
  label,
  hint,
  error,
  children,
}: Labelled & { children: (control: ControlProps) => ReactNode }) {
  const id = useId()
  const noteId = `${id}note`
  const note = error || hint
  return (
    <div className={`grid gap-1.5 ${className}`}>
      <label className="font-strong" htmlFor={id}>
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

const CONTROL =
  'min-h-11 w-full rounded-md border border-control bg-sheet px-3 py-2 text-ink placeholder:text-muted sm:min-h-10.5 hover:border-ink-2 aria-invalid:border-bad aria-invalid:shadow-[inset_0_0_0_1px_var(--bad)]'
const CODE = 'font-mono text-md'

export const Input = ({ className = '', ...rest }: ComponentProps<'input'>) => (
  <input {...rest} className={`${CONTROL} ${className}`} />
)

export const Select = ({ className = '', ...rest }: ComponentProps<'select'>) => (
  <select {...rest} className={`${CONTROL} ${className}`} />
)

interface CheckboxProps {
  checked: boolean
  onChange: (checked: boolean) => void
  className?: string
  children: ReactNode
}

/** A choice of its own, with its words. */
export const Checkbox = ({ checked, onChange, className = '', children }: CheckboxProps) => (
  <label
    className={`-ms-2.5 inline-flex min-h-11 cursor-pointer items-center gap-2.5 rounded-md px-2.5 sm:min-h-10 ${className}`}
  >
    <input type="checkbox" checked={checked} onChange={({ target }) => onChange(target.checked)} />
    <span>{children}</span>
  </label>
)

interface FieldProps extends ComponentProps<'input'>, Labelled {
  /** Shows the value in the font of code. */
  code?: boolean
}

/** A labelled input. */
export const Field = ({ className, label, hint, error, code, ...input }: FieldProps) => (
  <Labelled className={className} label={label} hint={hint} error={error}>
    {(control) => <Input {...input} {...control} className={code ? CODE : ''} />}
  </Labelled>
)

/** A labelled area for pasted code. */
export const CodeArea = ({ label, hint, error, ...area }: ComponentProps<'textarea'> & Labelled) => (
  <Labelled label={label} hint={hint} error={error}>
    {(control) => (
      <textarea
        {...area}
        {...control}
        className={`${CONTROL} ${CODE}`}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
      />
    )}
  </Labelled>
)
