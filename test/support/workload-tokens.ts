import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import type { WorkloadPlatform } from '../../apps/api/workload/workload.ts'
import { assertionFields, type KeyKind, newKeyPair, signJwt } from './assertions.ts'
import type { TestAuth, TestClient } from './auth.ts'
import { ISSUER } from './issuer.ts'

/** A platform: what its token has that identifies a client, or is not text, and the claims of a client. */
export interface TestPlatform {
  issuer: string
  /** As the client's record has it, if it does. */
  platform?: WorkloadPlatform
  kind: KeyKind
  alg: string
  header: Record<string, unknown>
  /** Members of the published key, besides those of its type. */
  key: Partial<JWK>
  claims: Record<string, string>
  /** What is not as in a token for `ISSUER` that lives for an hour from `iat` on. */
  token: (iat: number) => Record<string, unknown>
  /** Whether a token is used once. */
  once?: true
}

const GITHUB = {
  sub: 'repo:octo-org@9919/octo-repo@1296269:environment:production',
  repository_id: '1296269',
  repository_owner_id: '9919',
  environment: 'production',
  ref: 'refs/heads/main',
  head_ref: '',
}
const GITLAB = {
  sub: 'project_path:acme/etl:ref_type:branch:ref:main',
  project_id: '20',
  ref_protected: 'true',
  groups_direct: ['acme'],
  runner_id: 1,
}
const POD = { name: 'report', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' }
const PIPELINE = { pipeline_id: '0184990a-4782-42b5-afc1-16715b10b1ff', build_branch: 'main' }
const CIRCLECI = {
  'oidc.circleci.com/project-id': 'f6f0b1a2-8d1e-4a67-a1d5-7b7b7b1a2c3d',
  'oidc.circleci.com/vcs-origin': 'github.com/organization-123/repo-1',
  'oidc.circleci.com/vcs-ref': 'refs/heads/main',
}
const BITBUCKET = { repositoryUuid: '{1de489be-ce6a-42a0-a8c8-eadbf1174ac7}', branchName: 'main' }
const GOOGLE_ACCOUNT = '107517467455664443766'
const SPIFFE_ID = 'spiffe://example.org/ns/prod/sa/etl'
const AWS_ROLE = 'arn:aws:iam::123456789012:role/etl'
const APP = { sub: '5d7f9a52-7c3b-4b0e-9f9f-7e9b5b0a2d11', azp: 'c2a1' }

const header = { typ: 'JWT' }
const RS256 = { kind: 'RSA', alg: 'RS256', header, key: { use: 'sig', alg: 'RS256' } } as const
const GITHUB_ACTIONS: TestPlatform = {
  issuer: 'https://token.actions.githubusercontent.com',
  platform: 'github',
  ...RS256,
  header: { typ: 'JWT', x5t: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' },
  claims: { repository_id: '1296269', repository_owner_id: '9919', environment: 'production' },
  token: (iat) => ({ ...GITHUB, jti: randomUUID(), nbf: iat - 300, exp: iat + 300 }),
  once: true,
}
const GITLAB_CI: TestPlatform = {
  issuer: 'https://gitlab.com',
  platform: 'gitlab',
  ...RS256,
  claims: { project_id: '20', ref_protected: 'true' },
  token: (iat) => ({ ...GITLAB, jti: randomUUID(), nbf: iat - 5 }),
  once: true,
}
export const TEST_PLATFORMS: Record<string, TestPlatform> = {
  'GitHub Actions': GITHUB_ACTIONS,
  'GitHub Enterprise Server': { ...GITHUB_ACTIONS, issuer: 'https://github.acme.example/_services/token' },
  GitLab: GITLAB_CI,
  'GitLab, self-managed': { ...GITLAB_CI, issuer: 'https://gitlab.acme.example' },
  Buildkite: {
    issuer: 'https://agent.buildkite.com',
    platform: 'buildkite',
    ...RS256,
    claims: PIPELINE,
    token: (iat) => ({
      ...PIPELINE,
      build_number: 1,
      job_id: randomUUID(),
      nbf: iat,
      exp: iat + 300,
      sub: `organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:${randomUUID()}:step:build`,
    }),
  },
  CircleCI: {
    issuer: 'https://oidc.circleci.com/org/2f1a9f54-1c1b-4f3a-9c0e-0d1f4a4d2b11',
    platform: 'circleci',
    ...RS256,
    claims: CIRCLECI,
    token: () => ({
      ...CIRCLECI,
      'oidc.circleci.com/context-ids': ['0ab1c2d3-aaaa-bbbb-cccc-001122334455'],
      'oidc.circleci.com/ssh-rerun': false,
      sub: `org/2f1a9f54-1c1b-4f3a-9c0e-0d1f4a4d2b11/project/f6f0b1a2/user/${randomUUID()}`,
    }),
  },
  'Bitbucket Pipelines': {
    issuer: 'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc',
    platform: 'bitbucket',
    ...RS256,
    claims: BITBUCKET,
    token: () => {
      const stepUuid = `{${randomUUID()}}`
      return { ...BITBUCKET, stepUuid, sub: `${BITBUCKET.repositoryUuid}:${stepUuid}`, aud: [ISSUER] }
    },
  },
  Kubernetes: {
    issuer: 'https://kubernetes.default.svc.cluster.local',
    ...RS256,
    header: {},
    claims: { sub: 'system:serviceaccount:prod:report' },
    token: (nbf) => ({
      sub: 'system:serviceaccount:prod:report',
      aud: [ISSUER],
      jti: randomUUID(),
      nbf,
      'kubernetes.io': { namespace: 'prod', pod: POD },
    }),
  },
  SPIFFE: {
    issuer: 'https://oidc-discovery.example.org',
    kind: 'P-256',
    alg: 'ES256',
    header,
    key: { use: 'jwt-svid' },
    claims: { sub: SPIFFE_ID },
    token: (iat) => ({ sub: SPIFFE_ID, aud: [ISSUER], exp: iat + 300 }),
  },
  'Google Cloud': {
    issuer: 'https://accounts.google.com',
    ...RS256,
    claims: { sub: GOOGLE_ACCOUNT },
    token: () => ({ sub: GOOGLE_ACCOUNT, azp: GOOGLE_ACCOUNT, email_verified: true }),
  },
  AWS: {
    issuer: 'https://a1b2c3d4-5678-90ab-cdef-example11111.tokens.sts.global.api.aws',
    kind: 'P-384',
    alg: 'ES384',
    header,
    key: { use: 'sig', alg: 'ES384' },
    claims: { sub: AWS_ROLE },
    token: (iat) => ({
      sub: AWS_ROLE,
      jti: randomUUID(),
      exp: iat + 300,
      'https://sts.amazonaws.com/': { aws_account: '123456789012' },
    }),
  },
  'another OpenID issuer': {
    issuer: 'https://login.example.com/8f3a/v2.0',
    kind: 'Ed25519',
    alg: 'EdDSA',
    header,
    key: {},
    claims: APP,
    token: (iat) => ({ ...APP, ver: '2.0', nbf: iat, exp: iat + 3_599 }),
  },
}

/** A workload of a platform: its client, and what signs its tokens. */
export async function createWorkload(
  auth: TestAuth,
  platform: TestPlatform,
  client: Partial<TestClient> = {},
) {
  const keys = newKeyPair(platform.kind)
  const jwk = { ...keys.jwk, kid: 'k1', ...(platform.key.alg && { alg: platform.key.alg }) }
  const { issuer, platform: name, claims } = platform
  const keysAsOf = new Date(auth.clock.now())
  const workload = { issuer, platform: name ?? null, claims, keys: [jwk], keysAsOf }
  return { platform, keys, jwk, client: await auth.createClient({ ...client, workload }) }
}

export type TestWorkload = Awaited<ReturnType<typeof createWorkload>>

/** A token as the platform makes it, but for `claims` and `header`. Undefined members are left out. */
export const platformToken = (
  { platform, keys }: Pick<TestWorkload, 'platform' | 'keys'>,
  now_ms: number,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> => {
  const iat = Math.floor(now_ms / 1_000)
  const payload = {
    iss: platform.issuer,
    aud: ISSUER,
    iat,
    exp: iat + 3_600,
    ...platform.token(iat),
    ...claims,
  }
  return signJwt(payload, keys.privateKey, { alg: platform.alg, kid: 'k1', ...platform.header, ...header })
}

/** The fields of a token request by a workload. */
export const workloadFields = ({ client }: TestWorkload, token: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  scope: client.scopes.join(' '),
  client_id: client.clientId,
  ...assertionFields(token),
})
