import type { OAuthClient } from '../api/contract.ts'

export type ClientWorkload = NonNullable<OAuthClient['workload']>

export interface ClaimField {
  claim: string
  label: string
  hint: string
  /** How the claim begins, which no one has to type. */
  prefix?: string
  optional?: true
  /** It is needed only if this claim, whose field comes before, is left empty. */
  unless?: string
}

export interface Platform {
  title: string
  /** Undefined: it differs from one installation or account to another. */
  issuer?: string
  issuerHint?: string
  /** As the API calls it, if its workloads are named by other claims than `sub`. */
  platform?: ClientWorkload['platform']
  /** Compared in addition to the fields. */
  claims?: Record<string, string>
  fields: readonly ClaimField[]
}

const GITHUB = {
  platform: 'github',
  fields: [
    { claim: 'repository_id', label: 'Repository id', hint: 'gh api repos/OWNER/NAME --jq .id shows it.' },
    { claim: 'environment', label: 'Environment', hint: 'Leave it empty to name a branch.', optional: true },
    { claim: 'ref', label: 'Branch', hint: 'Such as main.', prefix: 'refs/heads/', unless: 'environment' },
  ],
} as const
const GITLAB = {
  platform: 'gitlab',
  claims: { ref_protected: 'true' },
  fields: [
    { claim: 'project_id', label: 'Project id', hint: 'Only its protected branches and tags match.' },
    { claim: 'environment', label: 'Environment', hint: 'If the job has one.', optional: true },
  ],
} as const

export type PlatformId =
  | ('github' | 'githubEnterprise' | 'gitlab' | 'gitlabServer' | 'kubernetes' | 'spiffe' | 'google' | 'aws')
  | ('buildkite' | 'circleci' | 'bitbucket' | 'other')

/** What names a workload in the tokens of each platform. */
export const PLATFORMS: Record<PlatformId, Platform> = {
  github: { title: 'GitHub Actions', issuer: 'https://token.actions.githubusercontent.com', ...GITHUB },
  githubEnterprise: {
    title: 'GitHub Enterprise',
    issuerHint:
      'https://HOSTNAME/_services/token, or https://token.actions.githubusercontent.com/ENTERPRISE if yours has one.',
    ...GITHUB,
  },
  gitlab: { title: 'GitLab', issuer: 'https://gitlab.com', ...GITLAB },
  gitlabServer: {
    title: 'GitLab, self-managed',
    issuerHint: 'The URL of your GitLab, such as https://gitlab.example.com.',
    ...GITLAB,
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
  buildkite: {
    title: 'Buildkite',
    issuer: 'https://agent.buildkite.com',
    platform: 'buildkite',
    fields: [
      {
        claim: 'pipeline_id',
        label: 'Pipeline id',
        hint: 'Its UUID, which jobs have in BUILDKITE_PIPELINE_ID.',
      },
      { claim: 'build_branch', label: 'Branch', hint: 'Such as main.' },
    ],
  },
  circleci: {
    title: 'CircleCI',
    issuerHint: 'https://oidc.circleci.com/org/ORGANIZATION_ID',
    platform: 'circleci',
    fields: [
      {
        claim: 'oidc.circleci.com/project-id',
        label: 'Project id',
        hint: 'A UUID: Project Settings, Overview.',
      },
      { claim: 'oidc.circleci.com/vcs-origin', label: 'Repository', hint: 'Such as github.com/acme/etl.' },
      { claim: 'oidc.circleci.com/vcs-ref', label: 'Branch', hint: 'Such as main.', prefix: 'refs/heads/' },
    ],
  },
  bitbucket: {
    title: 'Bitbucket Pipelines',
    issuerHint: 'Repository settings, OpenID Connect, Identity provider URL.',
    platform: 'bitbucket',
    fields: [
      { claim: 'repositoryUuid', label: 'Repository UUID', hint: 'Shown there too. With its braces.' },
      {
        claim: 'deploymentEnvironmentUuid',
        label: 'Deployment environment UUID',
        hint: 'With its braces. Leave it empty to name a branch.',
        optional: true,
      },
      { claim: 'branchName', label: 'Branch', hint: 'Such as main.', unless: 'deploymentEnvironmentUuid' },
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
  return {
    issuer: fixed.issuer ?? issuer.trim(),
    platform: fixed.platform ?? null,
    claims: { ...Object.fromEntries(typed), ...fixed.claims },
  }
}

/** Returns the first claim that is needed and empty. */
export function missingClaim({ platform, claims }: WorkloadDraft): ClaimField | undefined {
  const isEmpty = (claim: string) => !claims[claim]?.trim()
  return PLATFORMS[platform].fields.find(
    ({ claim, optional, unless = claim }) => !optional && isEmpty(claim) && isEmpty(unless),
  )
}

/** Recognizes which of these a client was created for, by its issuer, platform or how its subject begins. */
export function detectPlatform({ issuer, platform, claims: { sub = '' } }: ClientWorkload): PlatformId {
  const matches = (candidate: Platform) => {
    if (candidate.issuer) return candidate.issuer === issuer
    if (platform ?? candidate.platform) return candidate.platform === platform
    const { prefix } = candidate.fields[0] ?? {}
    return prefix !== undefined && sub.startsWith(prefix)
  }
  const ids = Object.keys(PLATFORMS) as PlatformId[]
  return ids.find((id) => matches(PLATFORMS[id])) ?? 'other'
}
