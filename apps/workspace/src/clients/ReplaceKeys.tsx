import { replaceIssuerKeys } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { KeySet } from '../api/contract.ts'
import { CodeArea } from '../ui/Field.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useForm } from '../ui/sent-form.ts'
import { isPrivateKey, jsonIn } from './key-pair.ts'

/** Takes the keys that a cluster has now, in place of those that a person pasted before. */
export function ReplaceKeys({ issuer, onClose }: { issuer: string; onClose: () => void }) {
  const { vendorId } = useCompany()
  const form = useForm<'keys'>({
    words: { title: 'The keys were not replaced' },
    check: ({ keys }) => ({
      keys: isPrivateKey(keys) && 'There is a private key in it. Paste public keys only.',
    }),
    async send({ keys }) {
      await replaceIssuerKeys(vendorId, { issuer, keys: jsonIn<KeySet>(keys) })
      onClose()
    },
    subjects: { keys: 'The keys' },
  })
  return (
    <FormDialog
      title="Replace the issuer’s keys"
      description="For every client that trusts this issuer. Tokens signed with a key that is left out are refused after five minutes at most."
      onClose={onClose}
      form={form}
      action="Replace the keys"
    >
      <CodeArea
        label="Public keys"
        error={form.errors.keys}
        name="keys"
        rows={3}
        placeholder='{"keys":[…]}'
      />
    </FormDialog>
  )
}
