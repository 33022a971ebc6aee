import type { ReactNode } from 'react'
import { Field, Labelled, noteClass } from '../ui/Field.tsx'
import { CompareToken } from './CompareToken.tsx'
import { PLATFORMS, type PlatformId, platform, type WorkloadDraft, workloadOf } from './platforms.ts'
import { WorkloadClaims } from './WorkloadClaims.tsx'

interface WorkloadFieldsProps {
  draft: WorkloadDraft
  onChange: (draft: WorkloadDraft) => void
  errors: { issuer: ReactNode; claims: ReactNode; keys: ReactNode }
}

/** Which platform a new client trusts, and which of its workloads. */
export function WorkloadFields({ draft, onChange, errors }: WorkloadFieldsProps) {
  const { issuer, issuerHint, fields } = platform(draft.platform)
  const workload = workloadOf(draft)
  return (
    <div className="grid gap-2.5">
      <Labelled label="Platform">
        {(control) => (
          <select
            {...control}
            className="input"
            value={draft.platform}
            onChange={({ target: { value } }) => onChange({ ...draft, platform: value as PlatformId })}
          >
            {Object.entries(PLATFORMS).map(([id, { title }]) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {!issuer && (
        <Field
          code
          label="Issuer"
          hint={issuerHint}
          error={errors.issuer}
          name="workload/issuer"
          autoComplete="off"
          placeholder="https://"
          value={draft.issuer}
          onChange={({ target: { value } }) => onChange({ ...draft, issuer: value })}
        />
      )}
      {fields.map(({ claim, label, hint, optional }, index) => (
        <Field
          code
          key={claim}
          label={optional ? `${label} (optional)` : label}
          hint={hint}
          error={index === 0 && errors.claims}
          name={index === 0 ? 'workload/claims' : undefined}
          autoComplete="off"
          value={draft.claims[claim] ?? ''}
          onChange={({ target: { value } }) =>
            onChange({ ...draft, claims: { ...draft.claims, [claim]: value } })
          }
        />
      ))}
      <p className="font-semibold">Its tokens must have, character by character</p>
      <WorkloadClaims workload={workload} />
      <p className={noteClass(issuer && errors.issuer)} role="status">
        {issuer && errors.issuer}
      </p>
      {!issuer && (
        <KeysField
          name="workload/keys"
          hint="Only if this service cannot reach the issuer, such as a private cluster"
          error={errors.keys}
        />
      )}
      <CompareToken workload={workload} />
    </div>
  )
}

interface KeysFieldProps {
  name: string
  hint?: string
  error: ReactNode
}

export const KeysField = ({ name, hint = 'As a JSON Web Key Set', error }: KeysFieldProps) => (
  <Labelled label="Public keys" hint={`${hint}: kubectl get --raw /openid/v1/jwks`} error={error}>
    {(control) => (
      <textarea
        {...control}
        className="input font-mono text-[14px]"
        name={name}
        rows={3}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder='{"keys":[…]}'
      />
    )}
  </Labelled>
)
