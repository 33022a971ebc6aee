import { type FormEvent, type ReactNode, useState } from 'react'
import type { Submission } from './submit.ts'

/** What is wrong with each field, as a sentence. */
export type FieldErrors<Name extends string> = { [name in Name]?: ReactNode }

/** What is in the inputs, by their names; without spaces around it, but for passwords. */
export type Values<Name extends string> = Record<Name, string>

export interface FormOptions<Name extends string> {
  submission: Submission
  /** Returns what has to be corrected before anything is sent. The first of these fields takes the focus. */
  check: (values: Values<Name>) => FieldErrors<Name> | Promise<FieldErrors<Name>>
  send: (values: Values<Name>) => Promise<void>
  /** What an error of `send` says about fields. The first of them takes the focus, selected. */
  refused?: (error: unknown) => FieldErrors<Name>
  /** The field to type again after a failure: it takes the focus, selected. */
  again?: Name
}

/** A form that is checked, then sent, once at a time. */
export function useForm<Name extends string>({ submission, check, send, refused, again }: FormOptions<Name>) {
  const [errors, setErrors] = useState<FieldErrors<Name>>({})

  async function submit(event: FormEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault()
    const form = event.currentTarget
    const values = valuesOf(form) as Values<Name>
    const wrong = await check(values)
    setErrors(wrong)
    const [first] = Object.keys(wrong)
    if (first !== undefined) return inputOf(form, first)?.focus()
    let refusedField: string | undefined
    const done = await submission.run(async () => {
      try {
        await send(values)
      } catch (error) {
        const found = refused?.(error) ?? {}
        setErrors(found)
        refusedField = Object.keys(found)[0]
        throw error
      }
    })
    const field = refusedField ?? again
    if (done || field === undefined) return
    inputOf(form, field)?.focus()
    inputOf(form, field)?.select()
  }

  /** What is being changed is not called wrong any more. */
  const forgive = (...names: Name[]) =>
    setErrors((before) => ({ ...before, ...Object.fromEntries(names.map((name) => [name, undefined])) }))

  return { busy: submission.busy, failure: submission.failure, errors, forgive, submit }
}

function valuesOf(form: HTMLFormElement): Record<string, string> {
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)] as const)
  return Object.fromEntries(
    fields.map(([name, text]) => [name, /password$/i.test(name) ? text : text.trim()]),
  )
}

function inputOf(form: HTMLFormElement, name: string): HTMLInputElement | HTMLTextAreaElement | undefined {
  const input = form.elements.namedItem(name)
  return input instanceof HTMLInputElement || input instanceof HTMLTextAreaElement ? input : undefined
}
