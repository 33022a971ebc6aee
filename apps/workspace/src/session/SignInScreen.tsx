import { useState } from 'react'
import type { SignInMethods } from '../api/contract.ts'
import { type CurrentSession, signIn, signOut } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { type ErrorWords, explain, UNREACHABLE } from '../ui/explain.ts'
import { Field } from '../ui/Field.tsx'
import { takeFocus } from '../ui/focus.ts'
import { type FormMutation, useFormOf } from '../ui/form.ts'
import { Notice } from '../ui/Notice.tsx'
import { Opening, PlainPage } from '../ui/PlainPage.tsx'
import { PASSWORD_RESET_PATH } from './link.ts'
import { landingFailure, leaveForProvider, useSignInMethods } from './openid.ts'

type Reason = Extract<CurrentSession, { state: 'signed-out' }>['reason']

export interface SignInProps {
  reason: Reason
  /** Filled in: the person whose session has ended. */
  email: string | undefined
  /** Called when something is typed. */
  onInput?: () => void
}

export function SignInScreen(props: SignInProps) {
  const methods = useSignInMethods()
  return methods ? <SignInPage {...props} methods={methods} /> : <Opening />
}

const INCORRECT = { title: 'Email or password is incorrect', text: '' }
const WORDS: ErrorWords = {
  title: 'You could not be signed in',
  noAnswer: UNREACHABLE,
  401: INCORRECT,
  422: INCORRECT,
}

function SignInPage({ reason, email, onInput, methods }: SignInProps & { methods: SignInMethods }) {
  const { builtInAccounts, mail, openid } = methods
  const attempt = useAttempt()
  const [leaving, setLeaving] = useState(false)
  const failure =
    explain(attempt.error, WORDS) ?? (reason || attempt.isPending ? undefined : landingFailure())

  async function leave(): Promise<void> {
    if (attempt.isPending) return
    setLeaving(true)
    await attempt.mutateAsync(leaveForProvider).catch(() => {})
    setLeaving(false)
  }
  return (
    <PlainPage title="Sign in" lede="Your company’s clients, callback URL and analytics.">
      {failure ? (
        <Notice tone="bad" title={failure.title} live>
          {failure.text}
        </Notice>
      ) : (
        <SignedOutNotice reason={reason} leaves={openid !== null} />
      )}
      {openid && (
        <Button
          variant={builtInAccounts ? 'plain' : 'primary'}
          className="w-full"
          busy={leaving}
          onClick={() => void leave()}
        >
          Sign in with {openid.name}
        </Button>
      )}
      {openid && builtInAccounts && <p className="text-muted justify-self-center">or</p>}
      {builtInAccounts && (
        <PasswordForm
          email={email}
          mutation={{
            ...attempt,
            mutateAsync: ({ email, password }) => attempt.mutateAsync(() => signIn(email, password)),
          }}
          busy={attempt.isPending && !leaving}
          onInput={onInput}
        />
      )}
      {builtInAccounts && mail && (
        <p className="text-sm">
          <a className="touch" href={PASSWORD_RESET_PATH}>
            Forgot your password?
          </a>
        </p>
      )}
      <p className="text-sm text-muted">
        {builtInAccounts
          ? 'No account? Ask the owner of your company for an invitation. '
          : 'Your company decides who may sign in.'}
        {builtInAccounts && !mail && 'Forgot your password? Ask the operator of this service.'}
      </p>
    </PlainPage>
  )
}

/** As useMutation, whose library would be a tenth of the script of this page. */
function useAttempt() {
  const [state, setState] = useState<{ isPending: boolean; error: Error | null }>(IDLE)
  async function mutateAsync(work: () => Promise<void>): Promise<void> {
    setState({ isPending: true, error: null })
    try {
      await work()
      setState(IDLE)
    } catch (error) {
      setState({ isPending: false, error: error as Error })
      throw error
    }
  }
  return { ...state, mutateAsync }
}

const IDLE = { isPending: false, error: null }

interface PasswordFormProps {
  email: string | undefined
  mutation: FormMutation<'email' | 'password'>
  /** Whether the form itself is being sent. */
  busy: boolean
  onInput: (() => void) | undefined
}

function PasswordForm({ email, mutation, busy, onInput }: PasswordFormProps) {
  const form = useFormOf(mutation, {
    words: WORDS,
    check: (values) => ({
      email: values.email === '' && 'Enter your email address.',
      password: values.password === '' && 'Enter your password.',
    }),
    again: 'password',
  })
  return (
    <form className="grid gap-2" onSubmit={form.submit} onInput={onInput} noValidate>
      <Field
        label="Email address"
        error={form.errors.email}
        ref={email ? null : takeFocus}
        defaultValue={email}
        name="email"
        type="email"
        autoComplete="username"
        spellCheck={false}
      />
      <Field
        label="Password"
        error={form.errors.password}
        ref={email ? takeFocus : null}
        name="password"
        type="password"
        autoComplete="current-password"
      />
      <Button type="submit" variant="primary" className="w-full" busy={busy}>
        Sign in
      </Button>
    </form>
  )
}

/**
 * Why someone who was signed in sees this page.
 * @param leaves whether signing in may leave the page, and with it the memory that has what was typed.
 */
function SignedOutNotice({ reason, leaves }: { reason: Reason; leaves: boolean }) {
  if (reason === 'expired') {
    return (
      <Notice tone="info" title="Your session has ended" live>
        {leaves ? (
          <>
            Sign in to return to this page. To keep what you have typed, do it{' '}
            <a href="/" target="_blank" rel="noopener">
              in a new tab
            </a>
            .
          </>
        ) : (
          'Sign in to continue where you left off.'
        )}
      </Notice>
    )
  }
  if (reason === 'everywhere') {
    return (
      <Notice tone="good" title="You are signed out everywhere" live>
        All of your sessions have ended, in this browser and in every other.
      </Notice>
    )
  }
  if (reason === 'finished') return <Notice tone="good" title="You are signed out" live />
  return reason === 'unfinished' ? <Unfinished /> : null
}

function Unfinished() {
  const { isPending, mutateAsync } = useAttempt()
  return (
    <Notice
      tone="warn"
      title={isPending ? 'Signing out' : 'You may still be signed in'}
      live
      actions={
        <Button busy={isPending} onClick={() => void mutateAsync(signOut)}>
          Sign out again
        </Button>
      }
    >
      {!isPending &&
        'The service did not confirm that your session has ended. Until it does, opening this page again in this browser may show your workspace.'}
    </Notice>
  )
}
