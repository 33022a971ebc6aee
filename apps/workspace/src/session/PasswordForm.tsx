import { useEffect, useRef } from 'react'
import { signIn } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { useForm } from '../ui/form.ts'
import type { Submission } from '../ui/submit.ts'

export interface PasswordFormProps {
  /** Filled in. */
  email: string | undefined
  submission: Submission
  /** Whether the form itself is being sent. */
  busy: boolean
  /** Called when something is typed. */
  onBegin: (() => void) | undefined
}

export function PasswordForm({ email, submission, busy, onBegin }: PasswordFormProps) {
  const emailRef = useRef<HTMLInputElement>(null)
  const passwordRef = useRef<HTMLInputElement>(null)
  const form = useForm<'email' | 'password'>({
    submission,
    check: (typed) => ({
      ...(typed.email === '' && { email: 'Enter your email address.' }),
      ...(typed.password === '' && { password: 'Enter your password.' }),
    }),
    send: (typed) => signIn(typed.email, typed.password),
    again: 'password',
  })
  useEffect(() => {
    const known = emailRef.current?.value
    ;(known ? passwordRef : emailRef).current?.focus()
  }, [])
  return (
    <form onSubmit={form.submit} onInput={onBegin} noValidate>
      <Field
        label="Email address"
        error={form.errors.email}
        ref={emailRef}
        defaultValue={email}
        name="email"
        type="email"
        autoComplete="username"
        spellCheck={false}
      />
      <Field
        label="Password"
        error={form.errors.password}
        ref={passwordRef}
        name="password"
        type="password"
        autoComplete="current-password"
      />
      <Button type="submit" variant="primary" busy={busy} wide>
        Sign in
      </Button>
    </form>
  )
}
