import { type ReactNode, useState } from 'react'
import { requestPasswordReset, setForgottenPassword } from '../api/session.ts'
import { Button } from '../ui/Button.tsx'
import { UNREACHABLE } from '../ui/explain.ts'
import { Field } from '../ui/Field.tsx'
import { takeFocus } from '../ui/focus.ts'
import { NEW_PASSWORD_HINT, newPasswordError } from '../ui/form.ts'
import { PlainForm } from '../ui/PlainForm.tsx'
import { Opening, PlainPage } from '../ui/PlainPage.tsx'
import { useForm } from '../ui/sent-form.ts'
import { forgetLink, isLinkOpened, useLinkToken } from './link.ts'
import { useSignInMethods } from './openid.ts'

const LINK_NOT_VALID = 'password_reset_not_valid'

/** Where someone asks for a new password, and where the mailed link leads. */
export default function PasswordResetScreen() {
  const token = useLinkToken()
  const methods = useSignInMethods()
  if (token !== undefined) return <NewPassword key={token} token={token} />
  if (!methods) return <Opening />
  if (!methods.mail || !methods.builtInAccounts) return <NoMail />
  if (!isLinkOpened()) return <RequestLink />
  return (
    <LinkOver title="Open the link in the email again">
      The link’s secret is no longer in the address. It was removed when the page opened, so that no one can
      read it there. Open the link in the email again, or get a new one.
    </LinkOver>
  )
}

/** The link cannot be used here. */
function LinkOver({ title, children }: { title: string; children: ReactNode }) {
  const [isRequesting, setIsRequesting] = useState(false)
  if (isRequesting) return <RequestLink />
  const requestLink = () => {
    forgetLink()
    setIsRequesting(true)
  }
  return (
    <PlainPage title={title}>
      <p role="alert">{children}</p>
      <Button variant="primary" ref={takeFocus} onClick={requestLink}>
        Get a new link
      </Button>
    </PlainPage>
  )
}

const NoMail = () => (
  <PlainPage title="Forgot your password?">
    <p>Ask the operator of this service. Passwords are not reset by email here.</p>
    <ToSignIn />
  </PlainPage>
)

const ToSignIn = () => (
  <p>
    <a className="touch" href="/">
      Back to signing in
    </a>
  </p>
)

/** Says the same for every address. */
function RequestLink() {
  const [requestedFor, setRequestedFor] = useState<string>()
  const form = useForm<'email'>({
    words: { title: 'The link was not requested', noAnswer: UNREACHABLE },
    check: ({ email }) => ({ email: !/^[^\s@]+@[^\s@]+$/.test(email) && 'Enter your email address.' }),
    async send({ email }) {
      await requestPasswordReset(email)
      setRequestedFor(email)
    },
    subjects: { email: 'The email address' },
  })
  if (requestedFor !== undefined)
    return <OnItsWay email={requestedFor} onAgain={() => setRequestedFor(undefined)} />
  return (
    <PlainPage title="Forgot your password?" lede="Get an email with a link to choose a new one.">
      <PlainForm form={form} action="Send the link">
        <Field
          label="Email address"
          error={form.errors.email}
          ref={takeFocus}
          name="email"
          type="email"
          autoComplete="username"
          spellCheck={false}
        />
      </PlainForm>
      <ToSignIn />
    </PlainPage>
  )
}

function OnItsWay({ email, onAgain }: { email: string; onAgain: () => void }) {
  return (
    <PlainPage title="Check your email">
      <p
        tabIndex={-1}
        ref={takeFocus}
        className="outline-none focus-visible:shadow-none focus-visible:outline-none"
      >
        If there is an account for <bdi className="font-strong wrap-anywhere">{email}</bdi>, an email is on
        its way. Its link works once, for an hour. If you get several, use the latest.
      </p>
      <p>
        No email after a few minutes? Look in your spam folder, and check whether you sign in with another
        address. Otherwise, ask the operator of this service.
      </p>
      <Button onClick={onAgain}>Try another address</Button>
      <ToSignIn />
    </PlainPage>
  )
}

function NewPassword({ token }: { token: string }) {
  const [isDone, setIsDone] = useState(false)
  const form = useForm<'password'>({
    words: {
      title: 'Your password is unchanged',
      uncertain: 'Your password may already be changed. Try again, or sign in with the new one',
    },
    check: ({ password }) => ({ password: newPasswordError(password) }),
    async send({ password }) {
      await setForgottenPassword(token, password)
      forgetLink()
      setIsDone(true)
    },
    subjects: { password: 'It' },
    again: 'password',
  })
  if (isDone) return <Changed />
  if (form.failure?.code === LINK_NOT_VALID)
    return (
      <LinkOver title="This link no longer works">
        {form.failure.text} If you have already set a new password with it, <a href="/">sign in</a>.
      </LinkOver>
    )
  return (
    <PlainPage title="Choose a new password" lede="Setting it signs you out everywhere.">
      <PlainForm form={form} action="Set the password">
        <Field
          label="New password"
          hint={NEW_PASSWORD_HINT}
          error={form.errors.password}
          ref={takeFocus}
          name="password"
          type="password"
          autoComplete="new-password"
        />
      </PlainForm>
    </PlainPage>
  )
}

function Changed() {
  return (
    <PlainPage title="Your password is changed">
      <p>
        You are signed out everywhere.{' '}
        <a href="/" ref={takeFocus}>
          Sign in
        </a>{' '}
        with the new password.
      </p>
    </PlainPage>
  )
}
