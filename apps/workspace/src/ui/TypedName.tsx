import { type ReactNode, type RefObject, useRef, useState } from 'react'
import { Field } from './Field.tsx'
import { plain } from './plain.ts'

export interface TypedNameProps {
  label: string
  name: string
  /** What may be typed in its place, in words: "or its id". */
  or: ReactNode
  readOnly: boolean
  confirmation: Confirmation
}

/** A name has to be typed before something that cannot be undone. */
export function TypedName({ label, name, or, readOnly, confirmation: { ref, mismatch } }: TypedNameProps) {
  const named = <bdi className="strong">{name}</bdi>
  return (
    <Field
      label={label}
      hint={
        <>
          {named}, {or}.
        </>
      }
      error={mismatch && <>That is not the name. It is {named}.</>}
    >
      {(control) => (
        <input
          {...control}
          ref={ref}
          name="confirmation"
          dir="auto"
          autoComplete="off"
          spellCheck={false}
          readOnly={readOnly}
        />
      )}
    </Field>
  )
}

export interface Confirmation {
  ref: RefObject<HTMLInputElement | null>
  mismatch: boolean
  /**
   * Whether the name was typed; if not, the field says so and takes the focus.
   * @param other does as well: an id, or an email address in lower case.
   */
  confirms: (name: string, other: string) => boolean
}

export function useTypedName(): Confirmation {
  const ref = useRef<HTMLInputElement>(null)
  const [mismatch, setMismatch] = useState(false)
  function confirms(name: string, other: string): boolean {
    const typed = plain(ref.current?.value ?? '')
    const matches = [plain(name), other].includes(typed) || typed.toLowerCase() === other
    setMismatch(!matches)
    if (!matches) ref.current?.focus()
    return matches
  }
  return { ref, mismatch, confirms }
}
