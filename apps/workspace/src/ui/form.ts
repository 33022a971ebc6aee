import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { PASSWORD_MIN_CHARACTERS } from '#shared/rules/passwords.ts'
import { ApiProblem, mayHaveSucceeded } from '../api/request.ts'
import { type ErrorWords, explain } from './explain.ts'

/** A sentence for each field that is wrong, false or undefined for the others. */
export type FieldErrors<Name extends string> = { [name in Name]?: ReactNode }

/** The values of the inputs by name. They are trimmed, except passwords. */
export type Values<Name extends string> = Record<Name, string>

/** What sends a form, as useMutation returns it. */
export interface FormMutation<Name extends string> {
  isPending: boolean
  error: Error | null
  mutateAsync: (values: Values<Name>) => Promise<void>
}

export interface FormOptions<Name extends string> {
  words: ErrorWords
  /** Returns what has to be corrected before anything is sent. The first of these fields takes the focus. */
  check?: (values: Values<Name>) => FieldErrors<Name>
  /**
   * How a sentence about a field begins, by the name of the API's member: "The name". What the API says is
   * wrong with it ends the sentence. The first of these fields is focused and selected. A member of a member,
   * "workload/keys", comes before the one that holds it.
   */
  subjects?: { [name in Name]?: string }
  /** The field that an error of this code is about, and what to say there. By default what the API says. */
  fieldOfCode?: Record<string, readonly [field: Name, text?: string]>
  /** The field to type again after a failure: it takes the focus, selected. */
  again?: Name
  /**
   * Sent again, it is not done twice: a refusal means that no earlier try has done it either, unless its code
   * is `idempotency_in_progress`.
   */
  idempotent?: boolean
}

/** A form that is checked, then sent, once at a time. */
export function useFormOf<Name extends string>(mutation: FormMutation<Name>, options: FormOptions<Name>) {
  const { words, check, again } = options
  const { isPending, error } = mutation
  const [errors, setErrors] = useState<FieldErrors<Name>>({})
  const isSending = useRef(false)
  /** A try had no answer, so that one which is refused does not mean that nothing was done. */
  const [isUncertain, setIsUncertain] = useState(false)
  /** The last refusal is shown at a field of the form, which may lack the one that it is about. */
  const [isMarked, setIsMarked] = useState(false)

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    if (isSending.current) return
    const form = event.currentTarget
    const values = readValues(form) as Values<Name>
    const mistakes: FieldErrors<Name> = check?.(values) ?? {}
    flushSync(() => setErrors(mistakes))
    if (Object.values(mistakes).some(Boolean)) return findWrong(form)?.focus()
    isSending.current = true
    try {
      await mutation.mutateAsync(values)
    } catch (failed) {
      if (mayHaveSucceeded(failed) && !options.idempotent) setIsUncertain(true)
      flushSync(() => setErrors(fieldErrors(failed, options)))
      setIsMarked(findWrong(form) !== null)
      const field = findWrong(form) ?? (again && form.elements.namedItem(again))
      if (field instanceof HTMLElement) field.focus()
      if (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) field.select()
    } finally {
      isSending.current = false
    }
  }

  /** What is being changed is not called wrong any more: one field, or by default the whole form. */
  const clearErrors = (name?: Name) => setErrors((before) => (name ? { ...before, [name]: undefined } : {}))

  const title = isUncertain ? (words.uncertain ?? words.title) : words.title
  const failure = explain(error, { ...words, title }, isMarked)
  return { isPending, error, failure, errors, clearErrors, submit }
}

/** What the API says is wrong with each field. */
function fieldErrors<Name extends string>(
  error: unknown,
  { subjects = {}, fieldOfCode = {} }: Pick<FormOptions<Name>, 'subjects' | 'fieldOfCode'>,
): FieldErrors<Name> {
  if (!(error instanceof ApiProblem)) return {}
  const [field, text = error.message] = fieldOfCode[error.code ?? ''] ?? []
  if (field !== undefined) return { [field]: text } as FieldErrors<Name>
  const messages: FieldErrors<Name> = {}
  for (const { pointer, detail } of error.errors) {
    const about = (Object.keys(subjects) as Name[]).find((name) => `${pointer}/`.startsWith(`/${name}/`))
    if (about) messages[about] ??= `${subjects[about]} ${detail}.`
  }
  return messages
}

function readValues(form: HTMLFormElement): Record<string, string> {
  const fields = [...new FormData(form)].map(([name, value]) => {
    const isPassword = (form.elements.namedItem(name) as { type?: string } | null)?.type === 'password'
    return [name, isPassword ? String(value) : String(value).trim()]
  })
  return Object.fromEntries(fields)
}

/** Returns the first field that is marked as wrong, whatever its kind. One without a name is not sent. */
const findWrong = (form: HTMLFormElement) => form.querySelector<HTMLElement>('[name][aria-invalid]')

/** What a new password has to be, before it is refused. The service checks the same. */
export const NEW_PASSWORD_HINT = `At least ${PASSWORD_MIN_CHARACTERS} characters, such as four random words. Not a common password, nor guessable from your name, email address or company.`

/** What is wrong with the length of a new password. */
export function newPasswordError(password: string): string | undefined {
  const missing = PASSWORD_MIN_CHARACTERS - [...password].length
  return missing > 0 ? `At least ${PASSWORD_MIN_CHARACTERS} characters; ${missing} more.` : undefined
}
