import type { ReactNode } from 'react'
import { Field } from './Field.tsx'
import type { FieldErrors } from './form.ts'
import { confirms } from './plain.ts'

export interface TypedNameProps {
  label: string
  name: string
  /** What may be typed in its place, in words: "or its id". */
  or: ReactNode
  readOnly: boolean
  error: ReactNode
}

/** A name has to be typed before something that cannot be undone. */
export const TypedName = ({ label, name, or, readOnly, error }: TypedNameProps) => (
  <Field
    label={label}
    hint={
      <>
        <Named name={name} />, {or}.
      </>
    }
    error={error}
    name="confirmation"
    dir="auto"
    autoComplete="off"
    spellCheck={false}
    readOnly={readOnly}
  />
)

const Named = ({ name }: { name: string }) => <bdi className="font-strong">{name}</bdi>

/** For useForm: @param alternative does as well as the name. */
export const checkTypedName =
  (name: string, alternative: string) =>
  ({ confirmation }: { confirmation: string }): FieldErrors<'confirmation'> => ({
    confirmation: !confirms(confirmation, name, alternative) && (
      <>
        That is not the name. It is <Named name={name} />.
      </>
    ),
  })
