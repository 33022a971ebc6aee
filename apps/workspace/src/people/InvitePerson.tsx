import { useRef, useState } from 'react'
import { useCompany } from '../api/company.ts'
import type { InvitedPerson, Person } from '../api/contract.ts'
import { ApiProblem } from '../api/request.ts'
import { invitePerson } from '../api/resources.ts'
import { draftOf, keepDraft } from '../session/drafts.ts'
import { Moment } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { Dialog } from '../ui/Dialog.tsx'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { type FieldErrors, useForm } from '../ui/form.ts'
import { say } from '../ui/say.tsx'
import { useSubmission } from '../ui/submit.ts'
import { explained } from './explained.ts'
import { roleWords } from './roles.ts'

type InvitableRole = 'admin' | 'member'

export interface InvitePersonProps {
  /** Someone whose invitation gets a new link. */
  again: Person | undefined
  onClose: () => void
}

export function InvitePerson({ again, onClose }: InvitePersonProps) {
  const [invited, setInvited] = useState<InvitedPerson>()
  if (invited) return <InvitationLink invited={invited} onClose={onClose} />
  return <InvitationForm again={again} onInvited={setInvited} onClose={onClose} />
}

interface InvitationFormProps extends InvitePersonProps {
  onInvited: (invited: InvitedPerson) => void
}

function InvitationForm(props: InvitationFormProps) {
  const { again } = props
  const form = useInvitation(props)
  return (
    <FormDialog
      title={again ? 'Create a new link' : 'Invite a person'}
      description={
        again
          ? 'The link that was sent before stops working.'
          : 'You get a link to give to this person. No email is sent.'
      }
      onClose={form.close}
      form={form}
      action="Create the link"
    >
      <Field
        label="Name"
        error={form.errors.name}
        name="name"
        dir="auto"
        autoComplete="off"
        defaultValue={form.first.name}
        onChange={(event) => form.retype({ name: event.target.value })}
      />
      <Field
        label="Email address"
        hint="They will sign in with it."
        error={form.errors.email}
        name="email"
        type="email"
        autoComplete="off"
        spellCheck={false}
        defaultValue={form.first.email}
        readOnly={again !== undefined}
        onChange={(event) => form.retype({ email: event.target.value })}
      />
      <RoleChoice role={form.role} onChange={form.choose} />
    </FormDialog>
  )
}

function RoleChoice({ role, onChange }: { role: InvitableRole; onChange: (role: InvitableRole) => void }) {
  return (
    <fieldset className="grid min-w-0">
      <legend className="pb-2">Role</legend>
      {(['admin', 'member'] as const).map((each) => (
        <label
          key={each}
          className="flex cursor-pointer gap-3 border-t border-line px-1 py-2.5 hover:bg-sunk has-checked:bg-mark-soft"
        >
          <input type="radio" name="role" checked={role === each} onChange={() => onChange(each)} />
          <span className="grid">
            <span className="strong">{roleWords(each).name}</span>
            <span className="small quiet">{roleWords(each).may}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

function InvitationLink({ invited, onClose }: { invited: InvitedPerson; onClose: () => void }) {
  return (
    <Dialog
      title={say`A link for ${invited.name}`}
      description="Copy it now: it is shown only once. If you lose it, create a new one."
      onClose={onClose}
    >
      <div className="flex items-center justify-between gap-3 rounded-md bg-mark py-2.5 ps-3.5 pe-2.5 text-mark-ink">
        <code className="wrap min-w-0">{invited.invitationUrl}</code>
        <CopyButton text={invited.invitationUrl} what="invitation link" labelled />
      </div>
      <ul className="facts">
        <li>
          Share it only with <bdi>{invited.name}</bdi>, over a channel you trust: anyone who has it can join
          as {invited.email}.
        </li>
        <li>
          It works once
          {invited.expiresAt && (
            <>
              , until <Moment at={invited.expiresAt} />
            </>
          )}
          .
        </li>
      </ul>
      <footer className="dialog-foot">
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </footer>
    </Dialog>
  )
}

/** Where the dialog's input is kept until it is sent or dismissed, so that the end of a session does not lose it. */
export const invitationDraft = (vendorId: string): string => `invite-person ${vendorId}`

interface Draft {
  name: string
  email: string
  role: InvitableRole
}

function useInvitation({ again, onInvited, onClose }: InvitationFormProps) {
  const { vendorId } = useCompany()
  const key = invitationDraft(vendorId)
  const [first] = useState<Draft>(() => {
    if (again) return { ...again, role: again.role === 'admin' ? 'admin' : 'member' }
    const kept = draftOf(key)
    return kept ? JSON.parse(kept) : { name: '', email: '', role: 'admin' }
  })
  const draft = useRef(first)
  const [role, setRole] = useState(first.role)
  function keep(part: Partial<Draft>): void {
    draft.current = { ...draft.current, ...part }
    keepDraft(key, JSON.stringify(draft.current))
  }
  const close = () => {
    keepDraft(key, undefined)
    onClose()
  }

  const form = useForm<'name' | 'email'>({
    submission: useSubmission(explained),
    check: ({ name, email }) => ({
      ...(name === '' && { name: 'Enter a name.' }),
      ...(!/^[^\s@]+@[^\s@]+$/.test(email) && { email: 'Enter an email address.' }),
    }),
    async send({ name, email }) {
      const invited = await invitePerson(vendorId, { name, email, role })
      keepDraft(key, undefined)
      onInvited(invited)
    },
    refused: fieldErrors,
  })
  return {
    ...form,
    first,
    role,
    choose(next: InvitableRole) {
      setRole(next)
      keep({ role: next })
    },
    retype(part: Partial<Draft>) {
      form.forgive('name', 'email')
      keep(part)
    },
    close,
  }
}

/** What the service says is wrong with each field. */
function fieldErrors(error: unknown): FieldErrors<'name' | 'email'> {
  if (!(error instanceof ApiProblem)) return {}
  if (error.code === 'already_member') return { email: error.message }
  const about = (pointer: string) => error.errors.find((each) => each.pointer === pointer)?.detail
  const name = about('/name')
  const email = about('/email')
  return {
    ...(name && { name: `The name ${name}.` }),
    ...(email && { email: `The email address ${email}.` }),
  }
}
