import type { OAuthClient } from '../api/contract.ts'

export type Workload = NonNullable<OAuthClient['workload']>

interface ClaimField {
  claim: string
  label: string
  hint: string
  /** How the claim begins, which no one has to type. */
  prefix?: string
  optional?: true
}

interface Platform {
  title: string
  /** Undefined: it differs from one installation or account to another. */
  issuer?: string
  issuerHint?: string
  /** Compared in addition to the fields. */
  claims?: Record<string, string>
  fields: ClaimField[]
}

const subject = (label: string, hint: string, prefix?: string): ClaimField => ({
  claim: 'sub',
  label,
  hint,
  ...(prefix && { prefix }),
})

/** What names a workload in the tokens of each platform. */
export const PLATFORMS = {
  github: {
    title: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    fields: [
      {
        claim: 'repository_id',
        label: 'Repository id',
        hint: 'A number, which a new repository of the same name does not get: gh api repos/OWNER/NAME --jq .id',
      },
      {
        claim: 'environment',
        label: 'Environment',
        hint: 'The environment of the job. Leave it empty to name a branch.',
        optional: true,
      },
      {
        claim: 'ref',
        label: 'Branch',
        hint: 'Such as main. Needed where there is no environment.',
        prefix: 'refs/heads/',
        optional: true,
      },
    ],
  },
  gitlab: {
    title: 'GitLab',
    issuer: 'https://gitlab.com',
    claims: { ref_protected: 'true' },
    fields: [
      {
        claim: 'project_id',
        label: 'Project id',
        hint: 'A number, in the settings of the project. Only its protected branches and tags match. For your own GitLab, choose “Other”.',
      },
      { claim: 'environment', label: 'Environment', hint: 'If the job has one.', optional: true },
    ],
  },
  kubernetes: {
    title: 'Kubernetes',
    issuerHint: 'kubectl get --raw /.well-known/openid-configuration shows it.',
    fields: [
      subject(
        'Service account',
        'Its namespace, a colon and its name: prod:report',
        'system:serviceaccount:',
      ),
    ],
  },
  spiffe: {
    title: 'SPIFFE',
    issuerHint: 'The jwt_issuer of the SPIRE server, whose discovery provider publishes the keys.',
    fields: [subject('SPIFFE ID', 'Such as example.org/report', 'spiffe://')],
  },
  google: {
    title: 'Google Cloud',
    issuer: 'https://accounts.google.com',
    fields: [
      subject(
        'Unique id of the service account',
        'gcloud iam service-accounts describe EMAIL --format="value(uniqueId)"',
      ),
    ],
  },
  aws: {
    title: 'AWS',
    issuerHint: 'aws iam get-outbound-web-identity-federation-info shows it.',
    fields: [subject('ARN of the role', 'Such as arn:aws:iam::111122223333:role/report')],
  },
  other: {
    title: 'Other',
    issuerHint: 'The iss of its tokens, where it publishes /.well-known/openid-configuration.',
    fields: [subject('Subject', 'The sub of its tokens.')],
  },
} satisfies Record<string, Platform>

export type PlatformId = keyof typeof PLATFORMS

export const platform = (id: PlatformId): Platform => PLATFORMS[id]

/** What a person typed; `claims` by name, without their prefixes. */
export interface WorkloadDraft {
  platform: PlatformId
  issuer: string
  claims: Record<string, string>
}

export function workloadOf({ platform: id, issuer, claims }: WorkloadDraft): Workload {
  const { fields, ...fixed } = platform(id)
  const typed = fields.flatMap(({ claim, prefix = '' }) => {
    const text = claims[claim]?.trim()
    return text ? [[claim, text.startsWith(prefix) ? text : prefix + text]] : []
  })
  return { issuer: fixed.issuer ?? issuer.trim(), claims: { ...Object.fromEntries(typed), ...fixed.claims } }
}

/** Returns the label of a field that has to be filled in and is not. */
export function missingField(draft: WorkloadDraft): string | undefined {
  const { issuer, fields } = platform(draft.platform)
  if (!issuer && draft.issuer.trim() === '') return 'Issuer'
  return fields.find(({ claim, optional }) => !optional && !draft.claims[claim]?.trim())?.label
}

/** Recognizes the platform of a client, which is not stored. */
export function platformOf({ issuer, claims: { sub = '' } }: Workload): PlatformId {
  const known = Object.entries(PLATFORMS as Record<string, Platform>).find(
    ([, each]) => each.issuer === issuer,
  )
  if (known) return known[0] as PlatformId
  if (sub.startsWith('system:serviceaccount:')) return 'kubernetes'
  if (sub.startsWith('spiffe://')) return 'spiffe'
  return /^https:\/\/[^/]+\.tokens\.sts\.global\.api\.aws$/.test(issuer) ? 'aws' : 'other'
}

export function platformTitle(workload: Workload): string {
  const id = platformOf(workload)
  return id === 'other' ? 'Platform' : platform(id).title
}
