import { sendRevocation, useClient } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { OAuthClient } from '../api/contract.ts'
import { Bullets } from '../ui/Bullets.tsx'
import { DocsLink } from '../ui/DocsLink.tsx'
import { DOCS, docsOfOAuthError } from '../ui/docs.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { say } from '../ui/say.ts'
import { useForm } from '../ui/sent-form.ts'
import { useToast } from '../ui/Toaster.tsx'
import { checkTypedName, TypedName } from '../ui/TypedName.tsx'
import { hasExpired } from './expiry.ts'
import { LastUse, MissingUses } from './LastUsed.tsx'

export interface RevokeClientProps {
  client: OAuthClient
  onClose: () => void
}

/** Revoking is final, so the name has to be typed, or the client id, for names that are hard to type. */
export function RevokeClient({ client: shown, onClose }: RevokeClientProps) {
  // A teammate may rename it or create its replacement meanwhile.
  const client = useClient(shown.clientId).data ?? shown
  const form = useRevocation({ client, onClose })
  return (
    <FormDialog
      title={say`Revoke ${client.name}?`}
      description={
        <>
          This cannot be undone. A revoked client never works again. <Successor client={client} />
        </>
      }
      onClose={onClose}
      form={form}
      action={form.isPending ? 'Revoking…' : 'Revoke permanently'}
      danger
      cancel="Keep it"
    >
      <Bullets>
        <li>
          It can no longer get tokens: token requests fail with{' '}
          <DocsLink to={docsOfOAuthError('invalid_client')}>
            <code>invalid_client</code>
          </DocsLink>
          .
        </li>
        <li>
          This API refuses its tokens as soon as it is revoked. A service that checks tokens itself may accept
          them for up to 15 minutes, or 3 seconds if it reads our page of revocations.{' '}
          <DocsLink to={DOCS.revocation}>How soon others refuse it</DocsLink>
        </li>
        <li>
          <LastUse client={client} at={client.lastUsedAt} />.
          <MissingUses client={client} />
        </li>
      </Bullets>
      <TypedName
        label="Type the client’s name to confirm"
        name={client.name}
        or="or its id"
        readOnly={form.isPending}
        error={form.errors.confirmation}
      />
      <p className="-my-2 min-h-5.5 text-ink-2 empty:-mt-7.5 empty:mb-0" role="status">
        {form.isPending && 'Revoking. Waiting until every server refuses it, which can take up to 6 seconds.'}
      </p>
    </FormDialog>
  )
}

/** What there is in its place. */
function Successor({ client }: { client: OAuthClient }) {
  const { data: replacement } = useClient(client.replacedBy)
  if (client.replacedBy !== null && !replacement) return null
  return replacement?.status === 'Active' && !hasExpired(replacement, new Date())
    ? say`Its replacement ${replacement.name} keeps working.`
    : 'You would have to create a new one.'
}

function useRevocation({ client, onClose }: RevokeClientProps) {
  const { vendorId, to } = useCompany()
  const toast = useToast()
  const uncertain = 'It may not be revoked yet. Try again until it says Revoked'
  return useForm<'confirmation'>({
    words: { title: 'It was not revoked', uncertain, 429: uncertain },
    check: checkTypedName(client.name, client.clientId),
    async send() {
      await sendRevocation(vendorId, client.clientId)
      onClose()
      const page = to('client', client.clientId)
      toast(say`${client.name} is revoked`, { href: page, label: 'See requests since' })
    },
  })
}
