import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { Person } from '../api/contract.ts'
import { ApiProblem, mayHaveSucceeded } from '../api/request.ts'
import { sendPersonChange } from '../api/resources.ts'
import { checkSession, roleIn, signIn, useSignedIn } from '../api/session.ts'
import { leaveForProvider, useSignInMethods } from '../session/openid.ts'
import { Bullets } from '../ui/Bullets.tsx'
import { Button } from '../ui/Button.tsx'
import { explain } from '../ui/explain.ts'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { takeFocus } from '../ui/focus.ts'
import { FailureNotice } from '../ui/Notice.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { useToast } from '../ui/Toaster.tsx'
import { checkTypedName, TypedName } from '../ui/TypedName.tsx'
import { PEOPLE_ERRORS } from './ChangePerson.tsx'

export interface HandOverProps {
  to: Person
  onClose: () => void
}

/** Only the new owner can undo it, so their name or email address has to be typed. */
export function HandOver(props: HandOverProps) {
  const { to, onClose } = props
  const { name: company } = useCompany()
  const form = useHandingOver(props)
  return (
    <FormDialog
      title={say`Hand ${company} over to ${to.name}?`}
      description="You cannot undo this: only the new owner can hand it back."
      onClose={onClose}
      form={form}
      action="Hand over ownership"
      danger
      cancel="Stay the owner"
    >
      <Bullets>
        <li>
          <bdi className="font-strong">{to.name}</bdi> ({to.email}) becomes the owner, and manages the people.
        </li>
        <li>You become an admin. The new owner can suspend or remove you.</li>
      </Bullets>
      <TypedName
        label="Type the new owner’s name to confirm"
        name={to.name}
        or="or the email address"
        readOnly={form.isPending}
        error={form.errors.confirmation}
      />
      {form.mustSignIn && <SignInAgain error={form.errors.password} />}
    </FormDialog>
  )
}

/** By now, the browser of an old sign-in may be someone else's. */
function SignInAgain({ error: passwordError }: { error: ReactNode }) {
  const methods = useSignInMethods()
  const { isPending, error, mutate } = useMutation({ mutationFn: () => leaveForProvider({ fresh: true }) })
  return (
    <>
      {methods?.builtInAccounts && (
        <Field
          label="Your password"
          hint="You signed in more than 15 minutes ago."
          error={passwordError}
          ref={takeFocus}
          name="password"
          type="password"
          autoComplete="current-password"
        />
      )}
      {methods?.openid && (
        <>
          <p className="text-sm text-muted">Sign in again, then hand over the company within 15 minutes.</p>
          <Button busy={isPending} onClick={() => mutate()}>
            Sign in with {methods.openid.name}
          </Button>
          <FailureNotice failure={explain(error, { title: 'You could not be signed in' })} />
        </>
      )}
    </>
  )
}

function useHandingOver({ to, onClose }: HandOverProps) {
  const { vendorId } = useCompany()
  const toast = useToast()
  const { user } = useSignedIn()
  const [mustSignIn, setMustSignIn] = useState(false)
  function finish(): void {
    onClose()
    toast(say`${to.name} is now the owner`)
  }
  const form = useForm<'confirmation' | 'password'>({
    words: PEOPLE_ERRORS,
    check: checkTypedName(to.name, to.email),
    async send({ password }) {
      if (password) await signIn(user.email, password)
      try {
        await sendPersonChange(vendorId, to.userId, { role: 'owner' })
      } catch (error) {
        if (error instanceof ApiProblem && error.code === 'recent_sign_in_required') setMustSignIn(true)
        await checkSession()
        // Without an answer, one's role says whether it happened.
        if (mayHaveSucceeded(error) && roleIn(vendorId) === 'admin') finish()
        throw error
      }
      await checkSession()
      finish()
    },
    fieldOfCode: { invalid_credentials: ['password', 'This is not your password.'] },
  })
  return { ...form, mustSignIn }
}
