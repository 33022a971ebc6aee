import { useState } from 'react'
import { replaceIssuerKeys, useIssuers } from '../api/clients.ts'
import { useCompany } from '../api/company.ts'
import type { WorkloadIssuer } from '../api/contract.ts'
import { Ago } from '../ui/Ago.tsx'
import { Button } from '../ui/Button.tsx'
import { FormDialog } from '../ui/FormDialog.tsx'
import { useForm } from '../ui/form.ts'
import { Fact } from '../ui/Loaded.tsx'
import { Notice } from '../ui/Notice.tsx'
import { useSubmission } from '../ui/submit.ts'
import { CompareToken } from './CompareToken.tsx'
import { keysError } from './creation.ts'
import { platformTitle, type Workload } from './platforms.ts'
import { WorkloadClaims } from './WorkloadClaims.tsx'
import { KeysField } from './WorkloadFields.tsx'

/** The keys of a client's issuer cannot be fetched. */
export function FailingKeys({ workload }: { workload: Workload }) {
  const issuer = useIssuer(workload)
  if (!issuer?.failing) return null
  return (
    <Notice tone="warn" title={issuer.failing}>
      They were last fetched <Ago at={issuer.keysAsOf} />. A day after that, no token of this issuer is
      accepted any more.
    </Notice>
  )
}

/** Whose tokens a client sends, what is compared in them, and how old the issuer's keys are. */
export function WorkloadFacts({ workload }: { workload: Workload }) {
  const issuer = useIssuer(workload)
  return (
    <>
      <Fact name={platformTitle(workload)}>
        <WorkloadClaims workload={workload} />
        <CompareToken workload={workload} />
      </Fact>
      {issuer && (
        <Fact name="Issuer’s keys">
          <Keys issuer={issuer} />
        </Fact>
      )}
    </>
  )
}

/** Undefined until it is read, and once no Active client trusts it. */
const useIssuer = (workload: Workload): WorkloadIssuer | undefined =>
  useIssuers().data?.issuers.find(({ issuer }) => issuer === workload.issuer)

function Keys({ issuer }: { issuer: WorkloadIssuer }) {
  const [replacing, setReplacing] = useState(false)
  const pasted = issuer.keysFrom === 'pasted'
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 [&_code]:wrap">
      <span>
        {pasted ? 'Pasted' : 'Fetched'} <Ago at={issuer.keysAsOf} />
        {issuer.keyIds.length > 0 && ': '}
        {issuer.keyIds.map((keyId) => (
          <code key={keyId} className="not-first-of-type:before:content-[',_']">
            {keyId}
          </code>
        ))}
      </span>
      {pasted && <Button onClick={() => setReplacing(true)}>Replace the keys</Button>}
      {replacing && <ReplaceKeys issuer={issuer.issuer} onClose={() => setReplacing(false)} />}
    </div>
  )
}

function ReplaceKeys({ issuer, onClose }: { issuer: string; onClose: () => void }) {
  const { vendorId } = useCompany()
  const title = 'The keys were not replaced'
  const form = useForm<'keys'>({
    submission: useSubmission({
      title,
      noAnswer: { title, text: 'No answer came. It is safe to try again.' },
    }),
    check: ({ keys }) => ({ keys: keys === '' ? 'Paste the key set.' : keysError(keys) }),
    async send({ keys }) {
      await replaceIssuerKeys(vendorId, { issuer, keys: JSON.parse(keys) })
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
      <KeysField name="keys" error={form.errors.keys} />
    </FormDialog>
  )
}
