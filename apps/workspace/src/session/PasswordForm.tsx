import { type FormEvent, useEffect, useRef, useState } from 'react'
import { signIn } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
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
  const form = usePasswordForm(submission)
  return (
    <form onSubmit={form.submit} onInput={onBegin} noValidate>
      <Field label="Email address" error={form.missing.email}>
        {(control) => (
          <input
            {...control}
            ref={form.emailRef}
            defaultValue={email}
            name="email"
            type="email"
            autoComplete="username"
            spellCheck={false}
          />
        )}
      </Field>
      <Field label="Password" error={form.missing.password}>
        {(control) => (
          <input
            {...control}
            ref={form.passwordRef}
            name="password"
            type="password"
            autoComplete="current-password"
          />
        )}
      </Field>
      <Button type="submit" variant="primary" busy={busy} wide>
        Sign in
      </Button>
    </form>
  )
}

function usePasswordForm(submission: Submission) {
  const emailRef = useRef<HTMLInputElement>(null)
  const passwordRef = useRef<HTMLInputElement>(null)
  const [missing, setMissing] = useState<{ email?: string; password?: string }>({})

  useEffect(() => {
    const known = emailRef.current?.value
    ;(known ? passwordRef : emailRef).current?.focus()
  }, [])

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const email = emailRef.current?.value.trim() ?? ''
    const password = passwordRef.current?.value ?? ''
    setMissing({
      ...(email === '' && { email: 'Enter your email address.' }),
      ...(password === '' && { password: 'Enter your password.' }),
    })
    if (email === '') return emailRef.current?.focus()
    if (password === '') return passwordRef.current?.focus()
    const signedIn = await submission.run(() => signIn(email, password))
    if (signedIn) return
    passwordRef.current?.focus()
    passwordRef.current?.select()
  }
  return { emailRef, passwordRef, missing, submit }
}
