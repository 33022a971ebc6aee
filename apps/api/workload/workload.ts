import { z } from 'zod'
import type { Workload } from '#shared/oauth/client-credentials.ts'
import { pastedKeys } from '../keys/key-set.ts'

/** Platforms whose workloads are named by other claims than `sub`. */
export const WORKLOAD_PLATFORMS = ['github', 'gitlab', 'buildkite', 'circleci', 'bitbucket'] as const
export type WorkloadPlatform = (typeof WORKLOAD_PLATFORMS)[number]

/** The issuer of the tokens that a client sends in place of a secret, and the exact text of their claims. */
export type WorkloadIdentity = Pick<Workload, 'issuer' | 'claims'> & { platform: WorkloadPlatform | null }
export type NewWorkload = { workload: WorkloadIdentity }

const ISSUER_MAX_CHARACTERS = 512
const CLAIMS_MAX = 8
const CLAIM_NAME = /^[A-Za-z0-9_.:/-]{1,64}$/
const CLAIM_VALUE = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u
/** The authorization server checks these itself. */
const RESERVED = ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']

const ISSUER_RULE = `must be an https URL of at most ${ISSUER_MAX_CHARACTERS} ASCII characters, without a query or a fragment`
const CANONICAL_RULE =
  'must have a host of lower-case letters, digits, dots and hyphens, and no final dot, user or port 443'

export const workloadIssuerUrl = z
  .string(ISSUER_RULE)
  .max(ISSUER_MAX_CHARACTERS, ISSUER_RULE)
  .regex(/^https:[/][/][!-"$->@-~]+$/, ISSUER_RULE)
  .refine(isCanonical, CANONICAL_RULE)
  .meta({ description: 'The `iss` of its tokens, compared character by character.' })

const NAME_RULE = `must have a name of 1 to 64 of A-Z, a-z, 0-9 and _ . : / -, other than ${RESERVED.join(', ')}`
const VALUE_RULE = 'must be text of 1 to 255 printable characters'
const COUNT_RULE = `must name 1 to ${CLAIMS_MAX} claims`

const claimName = z.string().refine((name) => CLAIM_NAME.test(name) && !RESERVED.includes(name))
// The pattern is not published: few languages know these categories.
const claimValue = z
  .string(VALUE_RULE)
  .refine((text) => CLAIM_VALUE.test(text), VALUE_RULE)
  .meta({ minLength: 1, maxLength: 255 })

const claims = z
  .preprocess(
    (input, context) => {
      if (typeof input !== 'object' || input === null) return input
      // z.record drops this name silently, so fewer claims would be compared than the company sent.
      if (Object.hasOwn(input, '__proto__')) return null
      // z.record would look at each of thousands.
      if (Object.keys(input).length <= CLAIMS_MAX) return input
      context.addIssue({ code: 'custom', message: COUNT_RULE })
      return z.NEVER
    },
    z.record(claimName, claimValue, {
      error: ({ code }) => (code === 'invalid_key' ? NAME_RULE : 'must be an object of claims'),
    }),
  )
  .refine((map) => Object.keys(map).length > 0, COUNT_RULE)
  .meta({
    minProperties: 1,
    maxProperties: CLAIMS_MAX,
    description:
      'The claims that name the workload. Each must be in its tokens with exactly this text: case counts, and there are no wildcards.',
  })

interface Platform {
  /** Issuers that are known to be this platform's. Others are if the caller says so. */
  issuer: RegExp
  /** Without `sub`, one of each list must be compared. The first is an id, which no one can take over. */
  identifying: string[][]
  /** `sub` differs from one run to the next. */
  subChanges?: boolean
}

const PLATFORMS: Record<WorkloadPlatform, Platform> = {
  github: {
    // Enterprises may have their name as a path, or a host of their own.
    issuer: /^https:\/\/token\.actions\.(?:githubusercontent\.com|[a-z0-9-]+\.ghe\.com)(?:\/|$)/,
    identifying: [['repository_id'], ['environment', 'ref', 'job_workflow_ref']],
  },
  gitlab: {
    issuer: /^https:\/\/gitlab\.com(?:\/|$)/,
    identifying: [['project_id'], ['ref_protected', 'environment']],
  },
  buildkite: {
    issuer: /^https:\/\/agent\.buildkite\.com(?:\/|$)/,
    identifying: [['pipeline_id'], ['build_branch', 'build_tag']],
    subChanges: true,
  },
  circleci: {
    issuer: /^https:\/\/oidc\.circleci\.com(?:\/|$)/,
    // A fork's pull request runs in the same project, and its branch may have any name.
    identifying: [
      ['oidc.circleci.com/project-id'],
      ['oidc.circleci.com/vcs-origin'],
      ['oidc.circleci.com/vcs-ref'],
    ],
    subChanges: true,
  },
  bitbucket: {
    issuer: /^https:\/\/api\.bitbucket\.org(?:\/|$)/,
    identifying: [['repositoryUuid'], ['deploymentEnvironmentUuid', 'branchName']],
    subChanges: true,
  },
}

type PlatformChoice = { issuer: string; platform?: WorkloadPlatform | null | undefined }

const knownPlatform = ({ issuer }: PlatformChoice): WorkloadPlatform | undefined =>
  WORKLOAD_PLATFORMS.find((name) => PLATFORMS[name].issuer.test(issuer))

/** Returns the platform of a workload: its issuer's, else the one that the caller named. null: neither. */
export const platformOf = (choice: PlatformChoice): WorkloadPlatform | null =>
  knownPlatform(choice) ?? choice.platform ?? null

const platform = z
  .enum(WORKLOAD_PLATFORMS, `must be one of ${WORKLOAD_PLATFORMS.join(', ')}`)
  .nullish()
  .meta({
    description:
      'Whose claims its tokens have, if the issuer is an installation of your own, such as GitLab or GitHub Enterprise Server. Otherwise the issuer decides.',
  })

export const WorkloadInput = z
  .strictObject({ issuer: workloadIssuerUrl, platform, claims, keys: pastedKeys.optional() })
  .check(({ value, issues }) => {
    const known = knownPlatform(value)
    if (known && (value.platform ?? known) !== known) {
      const message = `must be ${known} for this issuer, or left out`
      issues.push({ code: 'custom', input: value.platform, path: ['platform'], message })
    }
    const missing = missingClaims(value)
    if (missing) issues.push({ code: 'custom', input: value.claims, path: ['claims'], message: missing })
  })
  .meta({
    id: 'WorkloadInput',
    examples: [
      {
        issuer: 'https://token.actions.githubusercontent.com',
        claims: { repository_id: '1296269', environment: 'production' },
      },
    ],
    description:
      'Whose tokens the client sends in place of a secret. Without `keys`, the public keys are fetched from the issuer, now and regularly; with them, they are replaced only by PUT /v1/vendor/{vendorId}/workload-issuers.',
  })

/** Returns what the claims lack to name one workload for good; undefined if nothing. */
function missingClaims(input: PlatformChoice & Pick<Workload, 'claims'>): string | undefined {
  const name = platformOf(input)
  const { identifying, subChanges } = name ? PLATFORMS[name] : { identifying: undefined }
  if ('sub' in input.claims)
    return subChanges ? `must not name sub, which differs from one run of ${name} to the next` : undefined
  const others = 'without it, other workloads of this issuer would match'
  if (!identifying)
    return `must name sub: ${others}. If it changes with each run, name the platform of this issuer, if it is one of ${WORKLOAD_PLATFORMS.join(', ')}`
  const missing = identifying.filter((names) => !names.some((claim) => claim in input.claims))
  if (missing.length === 0) return undefined
  const needed = missing.map((names) => (names[1] ? `one of ${names.join(', ')}` : names[0])).join(' and ')
  return `must name ${subChanges ? '' : 'sub, or '}${needed}: ${others}`
}

/** The host's own form, so that one issuer is not two, and none that is known passes for another. */
function isCanonical(issuer: string): boolean {
  const url = URL.parse(issuer)
  if (!url || !/^[a-z0-9._:[\]-]+(?<!\.)$/.test(url.hostname)) return false
  return issuer === url.origin || issuer.startsWith(`${url.origin}/`)
}
