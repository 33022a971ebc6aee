import { useEffect, useState } from 'react'
import type { SignInMethods } from '../api/contract.ts'
import { ApiProblem, retryIn } from '../api/request.ts'
import { type Session, signOut } from '../api/session.ts'
import { Brand } from '../ui/Brand.tsx'
import { Button } from '../ui/Button.tsx'
import { Divider } from '../ui/Divider.tsx'
import { Notice } from '../ui/Notice.tsx'
import { Opening } from '../ui/Opening.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'
import { ThemeSelect } from '../ui/ThemeSelect.tsx'
import { explainedLanding, leaveForProvider, useSignInMethods } from './openid.ts'
import { PasswordForm } from './PasswordForm.tsx'
import './session.css'

type Reason = Extract<Session, { state: 'signed-out' }>['reason']

export interface SignInProps {
  reason: Reason
  /** Filled in: the person whose session has ended. */
  email: string | undefined
  /** Called when something is typed. */
  onBegin?: () => void
}

export function SignIn(props: SignInProps) {
  const methods = useSignInMethods()
  return methods ? <SignInPage {...props} methods={methods} /> : <Opening />
}

function SignInPage({ reason, email, onBegin, methods }: SignInProps & { methods: SignInMethods }) {
  const { builtInAccounts, openid } = methods
  const submission = useSubmission(explained)
  const [leaving, setLeaving] = useState(false)
  const failure = submission.failure ?? (reason || submission.busy ? undefined : explainedLanding())
  useEffect(() => {
    document.title = 'Sign in · Integration Access'
  }, [])

  async function leave(): Promise<void> {
    setLeaving(true)
    await submission.run(leaveForProvider)
    setLeaving(false)
  }
  return (
    <div className="sign-in">
      <header className="sign-in-head">
        <Brand />
        <ThemeSelect />
      </header>
      <main className="sign-in-body">
        <h1>Sign in</h1>
        <p className="lede">Your company’s clients, callback URL and analytics.</p>
        {failure ? (
          <Notice tone="bad" title={failure.title} live>
            {failure.text}
          </Notice>
        ) : (
          <Why reason={reason} />
        )}
        {openid && (
          <Button
            variant={builtInAccounts ? 'plain' : 'primary'}
            busy={leaving}
            wide
            onClick={() => void leave()}
          >
            Sign in with {openid.name}
          </Button>
        )}
        {openid && builtInAccounts && <p className="sign-in-or quiet">or</p>}
        {builtInAccounts && (
          <PasswordForm
            email={email}
            submission={submission}
            busy={submission.busy && !leaving}
            onBegin={onBegin}
          />
        )}
        <p className="small quiet">
          {builtInAccounts
            ? 'No account? Ask the owner of your company for an invitation. Forgot your password? Ask the operator of this service.'
            : 'Your company decides who may sign in.'}
        </p>
      </main>
      <Divider />
    </div>
  )
}

/** Why someone who was signed in sees this page. */
function Why({ reason }: { reason: Reason }) {
  if (reason === 'expired') {
    return (
      <Notice tone="info" title="Your session has ended">
        Sign in to continue where you left off.
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
  if (reason !== 'unfinished') return null
  return (
    <Notice
      tone="warn"
      title="You may still be signed in"
      live
      actions={<Button onClick={() => void signOut()}>Sign out again</Button>}
    >
      The service did not confirm that your session has ended. Until it does, opening this page again in this
      browser may show your workspace.
    </Notice>
  )
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
