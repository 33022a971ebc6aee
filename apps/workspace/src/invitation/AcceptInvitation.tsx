import { useEffect, useState } from 'react'
import type { InvitationPreview } from '../api/contract.ts'
import { ApiProblem, retryIn } from '../api/request.ts'
import { acceptInvitation, useSession } from '../api/session.ts'
import { Moment } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { Field } from '../ui/Field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/Notice.tsx'
import { type Failure, useSubmission } from '../ui/submit.ts'

const PASSWORD_MIN_CHARACTERS = 12

interface AcceptInvitationProps {
  token: string
  invitation: InvitationPreview
}

/** A new person chooses a password; someone who has an account signs in with theirs. */
export function AcceptInvitation(props: AcceptInvitationProps) {
  const { companyName, invitedBy, email, role, name, expiresAt } = props.invitation
  const form = useAcceptance(props)
  return (
    <>
      <h1>
        Join <bdi>{companyName}</bdi>
      </h1>
      <p className="lede">
        <bdi className="strong">{invitedBy}</bdi> invites you as {role === 'admin' ? 'an admin' : 'a member'}.
        The link works once, until <Moment at={expiresAt} />.
      </p>
      <SignedInAlready email={email} />
      <FailureNotice failure={form.failure} />
      <form onSubmit={form.submit} noValidate>
        {!form.known && (
          <Field
            label="Your name"
            error={form.errors.name}
            name="name"
            dir="auto"
            autoComplete="name"
            defaultValue={name}
          />
        )}
        <Field
          label="Email address"
          hint={form.known ? undefined : 'You will sign in with it.'}
          name="email"
          type="email"
          autoComplete="username"
          value={email}
          readOnly
        />
        <Field
          label={form.known ? 'Password of your account' : 'Choose a password'}
          hint={form.known ? undefined : `At least ${PASSWORD_MIN_CHARACTERS} characters.`}
          error={form.errors.password}
          name="password"
          type="password"
          autoComplete={form.known ? 'current-password' : 'new-password'}
        />
        <Button type="submit" variant="primary" busy={form.busy} wide>
          {form.known ? 'Sign in and join' : 'Create an account and join'}
        </Button>
      </form>
      <p className="small">
        {form.known ? 'No account for this address yet?' : 'Do you have an account for this address?'}{' '}
        <button type="button" className="text-button" onClick={form.change}>
          {form.known ? 'Create one' : 'Sign in instead'}
        </button>
      </p>
    </>
  )
}

function SignedInAlready({ email }: { email: string }) {
  const session = useSession()
  if (session.state !== 'signed-in' || session.user.email === email) return null
  return (
    <Notice tone="info" title="You are signed in as someone else">
      The invitation is for {email}. When you accept it, this browser is signed in as {email}, and{' '}
      {session.user.email} is signed out here.
    </Notice>
  )
}

function useAcceptance({ token, invitation }: AcceptInvitationProps) {
  const session = useSession()
  const isMe = session.state === 'signed-in' && session.user.email === invitation.email
  const [chosen, setChosen] = useState<boolean>()
  // The service does not reveal whether the account exists. Someone who is signed in has one.
  const known = chosen ?? isMe
  const submission = useSubmission((error) => explained(error, known))

  useEffect(() => {
    document.title = `Join ${invitation.companyName} · Integration Access`
  }, [invitation.companyName])

  const form = useForm<'name' | 'password'>({
    submission,
    check: ({ name, password }) => (known ? wrongOfKnown(password) : wrongOfNew(name, password)),
    async send({ name, password }) {
      try {
        await acceptInvitation({ token, password, existingAccount: known, ...(!known && { name }) })
      } catch (error) {
        // The company has this person already.
        if (!known && codeOf(error) === 'invalid_credentials') setChosen(true)
        throw error
      }
      // Loaded anew, so that nothing of the page, the token least of all, stays.
      location.replace(`/${encodeURIComponent(invitation.vendorId)}`)
    },
    again: 'password',
  })
  return {
    ...form,
    known,
    change() {
      setChosen(!known)
      form.forgive('name', 'password')
    },
  }
}

const codeOf = (error: unknown): string | undefined => (error instanceof ApiProblem ? error.code : undefined)

const wrongOfKnown = (password: string) => (password === '' ? { password: 'Enter your password.' } : {})

function wrongOfNew(name: string, password: string): { name?: string; password?: string } {
  const missing = PASSWORD_MIN_CHARACTERS - [...password].length
  return {
    ...(name === '' && { name: 'Enter your name.' }),
    ...(missing > 0 && { password: `At least ${PASSWORD_MIN_CHARACTERS} characters; ${missing} more.` }),
  }
}

/** @param known whether the person said that they have an account. */
function explained(error: unknown, known: boolean): Failure {
  if (!(error instanceof ApiProblem)) {
    return { title: 'The service cannot be reached', text: 'Check your connection, then try again.' }
  }
  if (error.status === 429) return { title: 'Too many attempts', text: `Try again ${retryIn(error)}.` }
  if (known && (error.code === 'invalid_credentials' || error.code === 'invalid_input'))
    return { title: 'The password is incorrect', text: 'No account for this address has it.' }
  if (error.code === 'invalid_credentials')
    return { title: 'You already have an account', text: 'Enter its password to join.' }
  if (error.code === 'invitation_not_valid') {
    return { title: 'The invitation is no longer valid', text: `${error.message} Ask for a new one.` }
  }
  if (error.errors.length > 0) {
    const [{ pointer, detail } = { pointer: '', detail: '' }] = error.errors
    return { title: 'You have not joined yet', text: `The ${pointer.slice(1)} ${detail}.` }
  }
  return { title: 'You have not joined yet', text: error.message }
}
