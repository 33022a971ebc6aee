import { useState } from 'react'
import { ROLE_NAMES, useCompany } from '../api/company.ts'
import type { InvitedPerson, Person } from '../api/contract.ts'
import { invitePerson } from '../api/resources.ts'
import { Bullets } from '../ui/Bullets.tsx'
import { Button, TextButton } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'
import { Dialog, DialogFoot } from '../ui/Dialog.tsx'
import { useDraft } from '../ui/draft.ts'
import { Field } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { Moment } from '../ui/Moment.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { useToast } from '../ui/Toaster.tsx'

/** What each may do. */
const ROLES = {
  admin:
    'Creates, rotates and revokes clients, sets the callback URL, and sees analytics, activity and people.',
  viewer: 'Sees clients, why their requests fail, the callback URL and analytics. Cannot change anything.',
  member: 'Belongs to the company, but sees nothing until given another role.',
}
type InvitableRole = keyof typeof ROLES

interface InvitePersonProps {
  /** Whether invitations can be mailed. */
  mails: boolean
  /** Someone whose invitation gets a new link. */
  again: Person | undefined
  onClose: () => void
}

export function InvitePerson(props: InvitePersonProps) {
  const { onClose } = props
  const [invited, setInvited] = useState<InvitedPerson>()
  const toast = useToast()
  const onInvited = (person: InvitedPerson) => {
    if (person.invitationUrl !== null) return setInvited(person)
    onClose()
    toast(say`An email to ${person.email} is on its way`)
  }
  const url = invited?.invitationUrl
  if (invited && url) return <InvitationLink invited={invited} url={url} onClose={onClose} />
  return <InvitationForm {...props} onInvited={onInvited} />
}

interface InvitationFormProps extends InvitePersonProps {
  onInvited: (invited: InvitedPerson) => void
}

function InvitationForm(props: InvitationFormProps) {
  const { again } = props
  const form = useInvitation(props)
  const isMailed = form.draft.deliver === 'mail'
  return (
    <FormDialog
      title={again ? (isMailed ? 'Send the invitation again' : 'Create a new link') : 'Invite a person'}
      description={
        again
          ? 'The earlier link stops working.'
          : isMailed
            ? 'This person gets an email with a link.'
            : 'You get a link to give to this person. No email is sent.'
      }
      onClose={props.onClose}
      form={form}
      action={isMailed ? 'Send the invitation' : 'Create the link'}
    >
      <Field
        label="Name"
        error={form.errors.name}
        name="name"
        dir="auto"
        autoComplete="off"
        value={form.draft.name}
        onChange={({ target }) => form.change('name', target.value)}
      />
      <Field
        label="Email address"
        hint="They will sign in with it."
        error={form.errors.email}
        name="email"
        type="email"
        autoComplete="off"
        spellCheck={false}
        readOnly={again !== undefined}
        value={form.draft.email}
        onChange={({ target }) => form.change('email', target.value)}
      />
      <RoleChoice role={form.draft.role} onChange={(role) => form.change('role', role)} />
      {props.mails && (
        <TextButton
          className="touch text-sm justify-self-start"
          onClick={() => form.change('deliver', isMailed ? 'link' : 'mail')}
        >
          {isMailed ? 'Copy a link instead' : 'Email the link instead'}
        </TextButton>
      )}
    </FormDialog>
  )
}

function RoleChoice({ role, onChange }: { role: InvitableRole; onChange: (role: InvitableRole) => void }) {
  return (
    <fieldset className="grid min-w-0">
      <legend className="pb-2">Role</legend>
      {(Object.keys(ROLES) as InvitableRole[]).map((option) => (
        <label
          key={option}
          className="flex cursor-pointer gap-3 border-t border-line px-1 py-2.5 hover:bg-sunk has-checked:bg-mark-soft"
        >
          <input type="radio" name="role" checked={role === option} onChange={() => onChange(option)} />
          <span className="grid">
            <span className="font-strong">{ROLE_NAMES[option]}</span>
            <span className="text-sm text-muted">{ROLES[option]}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

interface InvitationLinkProps {
  invited: InvitedPerson
  url: string
  onClose: () => void
}

function InvitationLink({ invited, url, onClose }: InvitationLinkProps) {
  return (
    <Dialog
      title={say`A link for ${invited.name}`}
      description="Copy it now: it is shown only once. If you lose it, create a new one."
      onClose={onClose}
    >
      <div className="flex items-center justify-between gap-3 rounded-md bg-mark py-2.5 ps-3.5 pe-2.5 text-mark-ink">
        <code className="wrap-anywhere min-w-0">{url}</code>
        <CopyButton text={url} what="invitation link" labelled />
      </div>
      <Bullets>
        <li>
          Share it only with <bdi>{invited.name}</bdi>, over a channel you trust: anyone who has it can join
          as {invited.email}.
        </li>
        {invited.expiresAt && <li>{say`It works once, until ${<Moment at={invited.expiresAt} />}.`}</li>}
      </Bullets>
      <DialogFoot>
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      </DialogFoot>
    </Dialog>
  )
}

function useInvitation({ again, mails, onInvited }: InvitationFormProps) {
  const { vendorId } = useCompany()
  const role: InvitableRole = again && again.role !== 'owner' ? again.role : 'admin'
  const [draft, setDraft] = useDraft('invitation', {
    name: again?.name ?? '',
    email: again?.email ?? '',
    role,
    deliver: mails ? ('mail' as const) : ('link' as const),
  })
  const form = useForm<'name' | 'email'>({
    words: { title: 'No invitation was created', uncertain: 'An invitation may have been created' },
    check: ({ name, email }) => ({
      name: name === '' && 'Enter a name.',
      email: !/^[^\s@]+@[^\s@]+$/.test(email) && 'Enter an email address.',
    }),
    async send({ name, email }) {
      onInvited(await invitePerson(vendorId, { ...draft, name, email }))
    },
    subjects: { name: 'The name', email: 'The email address' },
    fieldOfCode: { already_member: ['email'] },
  })
  function change<Name extends keyof typeof draft>(name: Name, value: (typeof draft)[Name]): void {
    setDraft({ ...draft, [name]: value })
    if (name === 'name' || name === 'email') form.clearErrors(name)
  }
  return { ...form, draft, change }
}
