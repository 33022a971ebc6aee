import { replaceIssuerKeys } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { KeySet } from '../api/contract.ts'
import { useDraft } from '../ui/draft.ts'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useForm } from '../ui/sent-form.ts'
import { jsonIn } from './key-pair.ts'
import { PublicKeyArea } from './PublicKeyArea.tsx'

/** Takes the keys that a cluster has now, in place of those that a person pasted before. */
export function ReplaceKeys({ issuer, onClose }: { issuer: string; onClose: () => void }) {
  const { vendorId } = useCompany()
  const [draft, setDraft] = useDraft('new keys', '')
  const form = useForm<'keys'>({
    words: { title: 'The keys were not replaced', uncertain: 'The keys may or may not have been replaced' },
    check: ({ keys }) => ({ keys: keys === '' && 'Paste the public keys.' }),
    async send({ keys }) {
      await replaceIssuerKeys(vendorId, { issuer, keys: jsonIn<KeySet>(keys) })
      onClose()
    },
    subjects: { keys: 'The keys' },
  })
  return (
    <FormDialog
      title="Replace the issuer’s keys"
      description="This applies to every client that trusts this issuer. Tokens signed with a key that you leave out are refused within five minutes."
      onClose={onClose}
      form={form}
      action="Replace the keys"
    >
      <PublicKeyArea
        label="Public keys"
        error={form.errors.keys}
        name="keys"
        rows={3}
        placeholder='{"keys":[…]}'
        value={draft}
        onText={(keys) => {
          setDraft(keys)
          form.clearErrors('keys')
        }}
      />
    </FormDialog>
  )
}
