import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ApiProblem, retryIn } from '../api/request.ts'
import { Brand } from '../shell/Brand.tsx'
import { Keyline } from '../shell/Keyline.tsx'
import { ThemeSelect } from '../shell/ThemeSelect.tsx'
import { Button } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { Notice } from '../ui/Notice.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { type Session, signIn, signOut } from './session.ts'
import './session.css'

export interface SignInProps {
  reason: Extract<Session, { state: 'signed-out' }>['reason']
  /** Filled in: the person whose session has ended. */
  email: string | undefined
  /** Called when something is typed. */
  onBegin?: () => void
}

export function SignIn({ reason, email, onBegin }: SignInProps) {
  const form = useSignInForm()
  return (
    <div className="sign-in">
      <header className="sign-in-head">
        <Brand />
        <ThemeSelect />
      </header>
      <main className="sign-in-body">
        <h1>Sign in</h1>
        <p className="lede">Your company’s clients, webhook and analytics.</p>
        {reason === 'expired' && !form.failure && (
          <Notice tone="info" title="Your session has ended">
            Sign in to continue where you left off.
          </Notice>
        )}
        {reason === 'everywhere' && !form.failure && (
          <Notice tone="good" title="You are signed out everywhere" live>
            All of your sessions have ended, in this browser and in every other.
          </Notice>
        )}
        {reason === 'unfinished' && !form.failure && (
          <Notice
            tone="warn"
            title="You may still be signed in"
            live
            actions={<Button onClick={() => void signOut()}>Sign out again</Button>}
          >
            The service did not confirm that your session has ended. Until it does, opening this page again in
            this browser may show your workspace.
          </Notice>
        )}
        {form.failure && (
          <Notice tone="bad" title={form.failure.title} live>
            {form.failure.text}
          </Notice>
        )}
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
          <Button type="submit" variant="primary" busy={form.busy} wide>
            Sign in
          </Button>
        </form>
        <p className="small quiet">
          No account? Ask the owner of your company for an invitation. Forgot your password? Ask the operator
          of this service.
        </p>
      </main>
      <Keyline />
    </div>
  )
}

function useSignInForm() {
  const emailRef = useRef<HTMLInputElement>(null)
  const passwordRef = useRef<HTMLInputElement>(null)
  const submission = useSubmission(explained)
  const [missing, setMissing] = useState<{ email?: string; password?: string }>({})

  useEffect(() => {
    document.title = 'Sign in · Integration Access'
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
  return { ...submission, emailRef, passwordRef, missing, submit }
}

function explained(error: unknown): Failure {
  if (!(error instanceof ApiProblem)) {
    return { title: 'The service cannot be reached', text: 'Check your connection, then try again.' }
  }
  if (error.status === 429) {
    return { title: 'Too many attempts', text: `Try again ${retryIn(error)}.` }
  }
  if (error.status === 401 || error.status === 422) {
    return { title: 'Email or password is incorrect', text: '' }
  }
  return { title: 'You could not be signed in', text: error.message }
}
