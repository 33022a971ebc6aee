import { z } from 'zod'
import type { Workload } from '#shared/oauth/client-credentials.ts'
import { pastedKeys } from '../keys/key-set.ts'

/** The issuer of the tokens that a client sends in place of a secret, and the exact text of their claims. */
export type WorkloadIdentity = Pick<Workload, 'issuer' | 'claims'>
export type NewWorkload = { workload: WorkloadIdentity }

const ISSUER_MAX_CHARACTERS = 512
const CLAIMS_MAX = 8
const CLAIM_NAME = /^[A-Za-z0-9_.:/-]{1,64}$/
const CLAIM_VALUE = /^[^\p{C}\p{Zl}\p{Zp}]{1,255}$/u
/** The authorization server checks these itself. */
const RESERVED = ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']

const ISSUER_RULE = `must be an https URL of at most ${ISSUER_MAX_CHARACTERS} ASCII characters, without a query or a fragment`

export const workloadIssuerUrl = z
  .string(ISSUER_RULE)
  .max(ISSUER_MAX_CHARACTERS, ISSUER_RULE)
  .regex(/^https:\/\/[!-"$->@-~]+$/, ISSUER_RULE)
  .meta({ description: 'The `iss` of its tokens, compared character by character.' })

const NAME_RULE = `must be 1 to 64 of A-Z, a-z, 0-9 and _ . : / -, and not ${RESERVED.join(', ')}`
const VALUE_RULE = 'must be text of 1 to 255 printable characters'
const COUNT_RULE = `must name 1 to ${CLAIMS_MAX} claims`

const claimName = z.string().refine((name) => CLAIM_NAME.test(name) && !RESERVED.includes(name))
const claimValue = z.string(VALUE_RULE).regex(CLAIM_VALUE, VALUE_RULE)

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

/**
 * Without `sub`, one claim of each list must be compared, so that no other workload of the issuer matches.
 */
const IDENTIFYING_CLAIMS = new Map<string, string[][]>([
  [
    'https://token.actions.githubusercontent.com',
    [['repository_id'], ['environment', 'ref', 'job_workflow_ref']],
  ],
  ['https://gitlab.com', [['project_id'], ['ref_protected', 'environment']]],
])

export const WorkloadInput = z
  .strictObject({ issuer: workloadIssuerUrl, claims, keys: pastedKeys.optional() })
  .check(({ value, issues }) => {
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

/** Returns what the claims lack to name one workload; undefined if nothing. */
function missingClaims({ issuer, claims }: WorkloadIdentity): string | undefined {
  if ('sub' in claims) return undefined
  const lists = IDENTIFYING_CLAIMS.get(issuer)
  if (!lists) return 'must name sub: without it, other workloads of this issuer would match'
  const missing = lists.filter((names) => !names.some((name) => name in claims))
  if (missing.length === 0) return undefined
  const needed = missing.map((names) => names.join(' or ')).join(', and ')
  return `must name sub, or ${needed}: without it, other workloads of this issuer would match`
}
