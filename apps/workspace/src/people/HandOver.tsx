import { useQueryClient } from '@tanstack/react-query'
import type { Person } from '../api/contract.ts'
import { changePerson, peopleChanged } from '../api/people.ts'
import { checkSession } from '../api/session.ts'
import { useCompany } from '../shell/company.ts'
import { Button } from '../ui/Button.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { FailureNotice } from '../ui/FailureNotice.tsx'
import { useForm } from '../ui/form.ts'
import { useSubmission } from '../ui/submit.ts'
import { useToast } from '../ui/Toaster.tsx'
import { checkTypedName, TypedName } from '../ui/TypedName.tsx'
import { explained } from './explained.ts'

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
    <Dialog
      open
      title={
        <>
          Hand <bdi>{company}</bdi> over to <bdi>{to.name}</bdi>?
        </>
      }
      description="You cannot undo this: only the new owner can hand it back."
      onClose={onClose}
      held={form.busy}
    >
      <form className="dialog-form" onSubmit={form.submit} noValidate>
        <ul className="facts">
          <li>
            <bdi className="strong">{to.name}</bdi> ({to.email}) becomes the owner, and manages the people.
          </li>
          <li>You become an admin. The new owner can suspend or remove you.</li>
        </ul>
        <TypedName
          label="Type the new owner’s name to confirm"
          name={to.name}
          or="or the email address"
          readOnly={form.busy}
          error={form.errors.confirmation}
        />
        <FailureNotice failure={form.failure} />
        <footer className="dialog-foot">
          <Button variant="quiet" onClick={onClose}>
            Stay the owner
          </Button>
          <Button type="submit" variant="danger" busy={form.busy}>
            Hand over ownership
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}

function useHandingOver({ to, onClose }: HandOverProps) {
  const { vendorId } = useCompany()
  const queryClient = useQueryClient()
  const toast = useToast()
  const submission = useSubmission(explained)
  return useForm<'confirmation'>({
    submission,
    check: checkTypedName(to.name, to.email),
    async send() {
      await changePerson(vendorId, to.userId, { role: 'owner' })
      await Promise.all([peopleChanged(queryClient, vendorId), checkSession()])
      onClose()
      toast(
        <>
          <bdi>{to.name}</bdi> is now the owner
        </>,
      )
    },
  })
}
