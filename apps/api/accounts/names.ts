import { z } from 'zod'
import { oneLine } from '../http/input.ts'

export const EMAIL_MAX_CHARACTERS = 254
/** No invisible characters, since an address with one looks like the address without it. */
const ADDRESS =
  /^[^\s@\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+@[^\s@\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u

/** Validated as far as possible without sending to it. Addresses are compared in lower case. */
export const emailAddress = z
  .string('must be a string')
  .max(EMAIL_MAX_CHARACTERS, `must have at most ${EMAIL_MAX_CHARACTERS} characters`)
  // Lower case can be longer than what was typed.
  .refine(
    (text) => text.toLowerCase().length <= EMAIL_MAX_CHARACTERS,
    `must be at most ${EMAIL_MAX_CHARACTERS} characters in lower case`,
  )
  .refine((text) => text.isWellFormed(), 'must be valid Unicode')
  .refine((text) => ADDRESS.test(text), 'must be an email address')
  .meta({ format: 'email' })

export const PERSON_NAME_MAX_CHARACTERS = 200

/** The name of a person, or of a company. */
export const personName = oneLine(1, PERSON_NAME_MAX_CHARACTERS).meta({
  minLength: 1,
  maxLength: PERSON_NAME_MAX_CHARACTERS,
})
