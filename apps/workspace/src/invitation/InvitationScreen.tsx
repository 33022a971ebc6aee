import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useClock } from '../api/company.ts'
import type { InvitationPreview } from '../api/contract.ts'
import { queryClient } from '../api/query.ts'
import { ApiProblem } from '../api/request.ts'
import { acceptInvitation, readInvitation, useSession } from '../api/session.ts'
import { PASSWORD_RESET_PATH, useLinkToken } from '../session/link.ts'
import { Ago } from '../ui/Ago.tsx'
import { TextButton } from '../ui/Button.tsx'
import { Field } from '../ui/Field.tsx'
import { NEW_PASSWORD_HINT, newPasswordError } from '../ui/form.ts'
import { Loaded } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { PlainForm } from '../ui/PlainForm.tsx'
import { PlainPage } from '../ui/PlainPage.tsx'
import { Skeleton } from '../ui/Skeleton.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { Time } from '../ui/Time.tsx'

/** Where an invitation link leads, signed in or not. */
export default function InvitationScreen() {
  const token = useLinkToken()
  return token === undefined ? <NoToken /> : <Invitation key={token} token={token} />
}

function Invitation({ token }: { token: string }) {
  const query = usePreview(token)
  const { data, error } = query
  if (data) return <AcceptInvitation token={token} invitation={data} />
  if (error instanceof ApiProblem && error.status === 404) {
    return (
      <PlainPage title="This invitation is no longer valid">
        <p role="alert">{error.message} Ask whoever invited you for a new one.</p>
        <JoinedAlready />
      </PlainPage>
    )
  }
  return (
    <PlainPage title="Your invitation">
      <Loaded query={query} skeleton={<Skeleton lines={5} />}>
        {() => null}
      </Loaded>
    </PlainPage>
  )
}

const NoToken = () => (
  <PlainPage title="Open your invitation again">
    <p>
      The link’s secret is no longer in the address. It was removed when the page opened, so that no one can
      read it there. Open your invitation link again.
    </p>
    <JoinedAlready />
  </PlainPage>
)

const JoinedAlready = () => (
  <p>
    Joined already? <a href="/">Sign in</a>
  </p>
)

/** Once read, it is not read again. The token leaves the cache with this screen. */
const usePreview = (token: string) =>
  useQuery(
    {
      queryKey: ['invitation', token],
      queryFn: ({ signal }) => readInvitation(token, signal),
      staleTime: 'static',
      gcTime: 0,
    },
    queryClient,
  )

interface AcceptInvitationProps {
  token: string
  invitation: InvitationPreview
}

/** A new person chooses a password. A person with an account signs in with theirs. */
function AcceptInvitation(props: AcceptInvitationProps) {
  const { companyName, invitedBy, email, role, name, expiresAt } = props.invitation
  const { zone } = useClock()
  const { hasAccount, ...form } = useAcceptance(props)
  return (
    <PlainPage
      title={`Join ${companyName}`}
      heading={say`Join ${companyName}`}
      lede={
        <>
          <bdi className="font-strong">{invitedBy}</bdi> has invited you as{' '}
          {role === 'admin' ? 'an admin' : `a ${role}`}. The link works once, until <Time at={expiresAt} />{' '}
          {zone} (<Ago at={expiresAt} />
          ).
        </>
      }
    >
      <SignedInAlready email={email} />
      <PlainForm form={form} action={hasAccount ? 'Sign in and join' : 'Create an account and join'}>
        <Field
          className={hasAccount ? 'hidden!' : ''}
          label="Your name"
          error={form.errors.name}
          name="name"
          dir="auto"
          autoComplete="name"
          defaultValue={name}
        />
        <Field
          label="Email address"
          hint={hasAccount ? undefined : 'You will sign in with it.'}
          name="email"
          type="email"
          autoComplete="username"
          value={email}
          readOnly
        />
        <Field
          key={hasAccount ? 'current' : 'new'}
          label={hasAccount ? 'Password of your account' : 'Choose a password'}
          hint={hasAccount ? undefined : NEW_PASSWORD_HINT}
          error={form.errors.password}
          name="password"
          type="password"
          autoComplete={hasAccount ? 'current-password' : 'new-password'}
        />
      </PlainForm>
      <p className="text-sm">
        {hasAccount ? 'No account for this address yet?' : 'Do you have an account for this address?'}{' '}
        <TextButton onClick={form.toggleAccount}>{hasAccount ? 'Create one' : 'Sign in instead'}</TextButton>
      </p>
      {hasAccount && (
        <p className="text-sm">
          <a href={PASSWORD_RESET_PATH}>Forgot your password?</a> Then open the link of your invitation again.
        </p>
      )}
      {[MAYBE_JOINED, NOT_VALID].includes(form.failure?.title ?? '') && <JoinedAlready />}
    </PlainPage>
  )
}

function SignedInAlready({ email }: { email: string }) {
  const session = useSession()
  if (session.state !== 'signed-in' || session.user.email === email) return null
  return (
    <Notice tone="info" title="You are signed in as someone else">
      The invitation is for {email}. When you accept it, this browser will be signed in as {email}, and{' '}
      {session.user.email} will be signed out here.
    </Notice>
  )
}

const MAYBE_JOINED = 'You may or may not have joined'
const NOT_VALID = 'The invitation is no longer valid'
const INCORRECT = ['password', 'It matches no account for this address.'] as const

function useAcceptance({ token, invitation }: AcceptInvitationProps) {
  const session = useSession()
  const isMe = session.state === 'signed-in' && session.user.email === invitation.email
  const [choice, setChoice] = useState<boolean>()
  // The service does not reveal whether the account exists. Someone who is signed in has one.
  const hasAccount = choice ?? isMe
  // How the last try was sent, which decides what its failure means.
  const [triedAccount, setTriedAccount] = useState(hasAccount)
  const form = useForm<'name' | 'password'>({
    words: {
      title: 'You have not joined yet',
      uncertain: MAYBE_JOINED,
      ...(!triedAccount && {
        invalid_credentials: { title: 'You already have an account', text: 'Enter its password to join.' },
      }),
      invitation_not_valid: NOT_VALID,
    },
    check: ({ name, password }) =>
      hasAccount
        ? { password: password === '' && 'Enter your password.' }
        : { name: name === '' && 'Enter your name.', password: newPasswordError(password) },
    async send({ name, password }) {
      setTriedAccount(hasAccount)
      try {
        await acceptInvitation({ token, password, existingAccount: hasAccount, ...(!hasAccount && { name }) })
      } catch (error) {
        // The company has this person already.
        if (!hasAccount && error instanceof ApiProblem && error.code === 'invalid_credentials')
          setChoice(true)
        throw error
      }
      // Loaded anew, so that nothing of the page, the token least of all, stays.
      location.replace(`/${encodeURIComponent(invitation.vendorId)}`)
    },
    subjects: { name: 'The name', password: 'The password' },
    // Signing in compares the password, whatever its length.
    ...(hasAccount && { fieldOfCode: { invalid_credentials: INCORRECT, invalid_input: INCORRECT } }),
    again: 'password',
  })
  return {
    ...form,
    hasAccount,
    toggleAccount() {
      setChoice(!hasAccount)
      form.forgetFailure()
      form.clearErrors()
    },
  }
}
