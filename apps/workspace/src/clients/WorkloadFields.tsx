import { Field, Labelled, Select } from '../ui/Field.tsx'
import type { FieldErrors } from '../ui/form.ts'
import { PublicKeyArea } from './PublicKeyArea.tsx'
import { PLATFORMS, type PlatformId, toWorkload, type WorkloadDraft } from './platforms.ts'
import { CompareToken } from './WorkloadClaims.tsx'

/** As the API's errors point to them. */
export type WorkloadField = `workload/${'issuer' | 'platform' | 'keys' | 'claims' | `claims/${string}`}`

/** The name of a claim's field. A slash in a JSON pointer's name is `~1` (RFC 6901, section 3). */
export const claimField = (claim: string) => `workload/claims/${claim.replaceAll('/', '~1')}` as const

interface WorkloadFieldsProps {
  draft: WorkloadDraft
  onChange: (draft: WorkloadDraft) => void
  errors: FieldErrors<WorkloadField>
}

/** Which platform a new client trusts, and which of its workloads. */
export function WorkloadFields({ draft, onChange, errors }: WorkloadFieldsProps) {
  const { issuer, issuerHint, fields } = PLATFORMS[draft.platform]
  return (
    <div className="grid gap-2.5">
      <Labelled label="Platform" error={errors['workload/platform'] || (issuer && errors['workload/issuer'])}>
        {(control) => (
          <Select
            {...control}
            name="workload/platform"
            value={draft.platform}
            onChange={({ target: { value } }) =>
              onChange({ ...draft, platform: value as PlatformId, keys: '' })
            }
          >
            {Object.entries(PLATFORMS).map(([id, { title }]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </Select>
        )}
      </Labelled>
      {!issuer && (
        <Field
          code
          label="Issuer"
          hint={issuerHint}
          error={errors['workload/issuer']}
          name="workload/issuer"
          autoComplete="off"
          placeholder="https://"
          value={draft.issuer}
          onChange={({ target: { value } }) => onChange({ ...draft, issuer: value })}
        />
      )}
      {fields.map(({ claim, label, hint }, index) => (
        <Field
          code
          key={claim}
          label={label}
          hint={hint}
          error={errors[claimField(claim)] || (index === 0 && errors['workload/claims'])}
          name={claimField(claim)}
          autoComplete="off"
          value={draft.claims[claim] ?? ''}
          onChange={({ target: { value } }) =>
            onChange({ ...draft, claims: { ...draft.claims, [claim]: value } })
          }
        />
      ))}
      {!issuer && (
        <PublicKeyArea
          label="Public keys"
          hint={`Only if this service cannot reach the issuer: the JSON at its jwks_uri.${draft.platform === 'kubernetes' ? ' kubectl get --raw /openid/v1/jwks shows it.' : ''}`}
          error={errors['workload/keys']}
          name="workload/keys"
          rows={3}
          placeholder='{"keys":[…]}'
          value={draft.keys}
          onText={(keys) => onChange({ ...draft, keys })}
        />
      )}
      <p className="font-strong">Its tokens must have exactly these values</p>
      <CompareToken workload={toWorkload(draft)} />
    </div>
  )
}
