import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiProblem } from '../api/request.ts'
import { Brand } from '../shell/Brand.tsx'
import { Keyline } from '../shell/Keyline.tsx'
import { ThemeChoice } from '../shell/Theme.tsx'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Notice } from '../ui/Notice.tsx'
import { signIn } from './session.ts'
import './session.css'

export function SignIn({ reason }: { reason: 'expired' | 'left' | undefined }) {
  const form = useSignInForm()
  return (
    <div className="sign-in">
      <header className="sign-in-head">
        <Brand />
        <ThemeChoice />
      </header>
      <main className="sign-in-body">
        <h1>Sign in</h1>
        <p className="lede">Clients, callback and analytics of your company.</p>
        {reason === 'expired' && !form.error && (
          <Notice tone="info" title="Your session has ended">
            Sign in to go on where you were.
          </Notice>
        )}
        {form.error && (
          <Notice tone="bad" title={form.error.title} live>
            {form.error.text}
          </Notice>
        )}
        <form onSubmit={form.submit} noValidate>
          <Field label="Email address" error={form.missing.email}>
            {(control) => (
              <input
                {...control}
                ref={form.emailRef}
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
          <Button type="submit" variant="primary" busy={form.busy} wide>
            Sign in
          </Button>
        </form>
        <p className="small quiet">
          No account, or a lost password? The operator of this service sets both up; nobody here can see a
          password.
        </p>
      </main>
      <Keyline />
    </div>
  )
}

function useSignInForm() {
  const emailRef = useRef<HTMLInputElement>(null)
  const passwordRef = useRef<HTMLInputElement>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<{ title: string; text: string }>()
  const [missing, setMissing] = useState<{ email?: string; password?: string }>({})

  useEffect(() => {
    document.title = 'Sign in · Integration Access'
    emailRef.current?.focus()
  }, [])

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (busy) return
    const email = emailRef.current?.value.trim() ?? ''
    const password = passwordRef.current?.value ?? ''
    setMissing({
      ...(email === '' && { email: 'Enter your email address.' }),
      ...(password === '' && { password: 'Enter your password.' }),
    })
    if (email === '') return emailRef.current?.focus()
    if (password === '') return passwordRef.current?.focus()
    setBusy(true)
    setError(undefined)
    try {
      await signIn(email, password)
    } catch (failure) {
      setError(explained(failure))
      setBusy(false)
      passwordRef.current?.focus()
      passwordRef.current?.select()
    }
  }
  return { emailRef, passwordRef, busy, error, missing, submit }
}

function explained(error: unknown): { title: string; text: string } {
  if (!(error instanceof ApiProblem)) {
    return { title: 'The service cannot be reached', text: 'Check your connection, then try again.' }
  }
  if (error.status === 429) {
    const wait = error.retryAfterSeconds ? `in ${error.retryAfterSeconds} seconds` : 'in a while'
    return { title: 'Too many tries', text: `Try again ${wait}.` }
  }
  if (error.status === 401 || error.status === 422) {
    return { title: 'That did not match', text: 'The email address or the password is wrong.' }
  }
  return { title: 'Signing in failed', text: error.message }
}
