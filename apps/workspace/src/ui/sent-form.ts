import { useMutation } from '@tanstack/react-query'
import { queryClient } from '../api/query.ts'
import { type FormOptions, useFormOf, type Values } from './form.ts'

interface SentFormOptions<Name extends string> extends FormOptions<Name> {
  send: (values: Values<Name>) => Promise<void>
}

/** A form whose values `send` sends. The sign-in page has its own mutation, and does without the library. */
export function useForm<Name extends string>({ send, ...options }: SentFormOptions<Name>) {
  const mutation = useMutation({ mutationFn: send }, queryClient)
  return { ...useFormOf(mutation, options), forgetFailure: mutation.reset }
}
