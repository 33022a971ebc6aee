import type { OAuthClient } from '../api/contract.ts'

export type ClientWorkload = NonNullable<OAuthClient['workload']>

export interface ClaimField {
  claim: string
  label: string
  hint: string
  /** How the claim begins, which no one has to type. */
  prefix?: string
}

export interface Platform {
  title: string
  /** Undefined: it differs from one installation or account to another. */
  issuer?: string
  issuerHint?: string
  /** Compared in addition to the fields. */
  claims?: Record<string, string>
  /** The first is needed. */
  fields: readonly ClaimField[]
}

export type PlatformId = 'github' | 'gitlab' | 'kubernetes' | 'spiffe' | 'google' | 'aws' | 'other'

/** What names a workload in the tokens of each platform. */
export const PLATFORMS: Record<PlatformId, Platform> = {
  github: {
    title: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    fields: [
      { claim: 'repository_id', label: 'Repository id', hint: 'gh api repos/OWNER/NAME --jq .id shows it.' },
      { claim: 'environment', label: 'Environment', hint: 'Leave it empty to name a branch.' },
      { claim: 'ref', label: 'Branch', hint: 'Such as main.', prefix: 'refs/heads/' },
    ],
  },
  gitlab: {
    title: 'GitLab',
    issuer: 'https://gitlab.com',
    claims: { ref_protected: 'true' },
    fields: [
      { claim: 'project_id', label: 'Project id', hint: 'Only its protected branches and tags match.' },
      { claim: 'environment', label: 'Environment', hint: 'If the job has one.' },
    ],
  },
  kubernetes: {
    title: 'Kubernetes',
    issuerHint: 'kubectl get --raw /.well-known/openid-configuration shows it.',
    fields: [
      { claim: 'sub', label: 'Service account', hint: 'NAMESPACE:NAME', prefix: 'system:serviceaccount:' },
    ],
  },
  spiffe: {
    title: 'SPIFFE',
    issuerHint: 'The jwt_issuer of the SPIRE server.',
    fields: [{ claim: 'sub', label: 'SPIFFE ID', hint: 'TRUST-DOMAIN/PATH', prefix: 'spiffe://' }],
  },
  google: {
    title: 'Google Cloud',
    issuer: 'https://accounts.google.com',
    fields: [{ claim: 'sub', label: 'Unique id of the service account', hint: 'A number.' }],
  },
  aws: {
    title: 'AWS',
    issuerHint: 'aws iam get-outbound-web-identity-federation-info shows it.',
    fields: [
      { claim: 'sub', label: 'ARN of the role', hint: 'arn:aws:iam::ACCOUNT:role/NAME', prefix: 'arn:' },
    ],
  },
  other: {
    title: 'Other',
    issuerHint: 'The iss of its tokens, where it publishes /.well-known/openid-configuration.',
    fields: [{ claim: 'sub', label: 'Subject', hint: 'The sub of its tokens.' }],
  },
}

/** What a person typed, for the API to check. `claims` are by name, without their prefixes. */
export interface WorkloadDraft {
  platform: PlatformId
  issuer: string
  claims: Record<string, string>
  /** A key set as JSON, empty if it is to be fetched. */
  keys: string
}

export function toWorkload({ platform, issuer, claims }: WorkloadDraft): ClientWorkload {
  const { fields, ...fixed } = PLATFORMS[platform]
  const typed = fields.flatMap(({ claim, prefix = '' }) => {
    const text = claims[claim]?.trim()
    return text ? [[claim, text.startsWith(prefix) ? text : prefix + text]] : []
  })
  return { issuer: fixed.issuer ?? issuer.trim(), claims: { ...Object.fromEntries(typed), ...fixed.claims } }
}

/** Returns the label of the field that is needed, and empty. */
export function missingField({ platform, claims }: WorkloadDraft): string | undefined {
  const [needed] = PLATFORMS[platform].fields
  return needed && !claims[needed.claim]?.trim() ? needed.label : undefined
}

/** Recognizes the platform of a client, which is not stored, by its issuer or how its subject begins. */
export function detectPlatform({ issuer, claims: { sub = '' } }: ClientWorkload): PlatformId {
  const matches = ({ issuer: platformIssuer, fields: [first] }: Platform) =>
    platformIssuer === issuer || (first?.prefix !== undefined && sub.startsWith(first.prefix))
  const ids = Object.keys(PLATFORMS) as PlatformId[]
  return ids.find((id) => matches(PLATFORMS[id])) ?? 'other'
}
