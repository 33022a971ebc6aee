import { randomUUID } from 'node:crypto'
import type { JWK } from 'jose'
import type { WorkloadPlatform } from '../../apps/api/workload/workload.ts'
import { assertionFields, type KeyKind, newKeyPair, signJwt } from './assertions.ts'
import type { TestAuth, TestClient } from './auth.ts'
import { ISSUER } from './issuer.ts'

/**
 * A platform: what its token has that identifies a client, or is not text, and the claims of a client.
 */
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
  token: (now_s: number) => Record<string, unknown>
  /** Whether a token is used once. */
  once: boolean
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
const KUBERNETES = {
  'kubernetes.io': {
    namespace: 'prod',
    pod: { name: 'report', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' },
  },
  sub: 'system:serviceaccount:prod:report',
}
const BUILDKITE = {
  pipeline_id: '0184990a-4782-42b5-afc1-16715b10b1ff',
  build_number: 1,
  build_branch: 'main',
}
const CIRCLECI = {
  'oidc.circleci.com/project-id': 'f6f0b1a2-8d1e-4a67-a1d5-7b7b7b1a2c3d',
  'oidc.circleci.com/vcs-origin': 'github.com/organization-123/repo-1',
  'oidc.circleci.com/vcs-ref': 'refs/heads/main',
  'oidc.circleci.com/context-ids': ['0ab1c2d3-aaaa-bbbb-cccc-001122334455'],
  'oidc.circleci.com/ssh-rerun': false,
}
const BITBUCKET = {
  repositoryUuid: '{1de489be-ce6a-42a0-a8c8-eadbf1174ac7}',
  branchName: 'main',
}

const RS256 = {
  kind: 'RSA',
  alg: 'RS256',
  header: { typ: 'JWT' },
  key: { use: 'sig', alg: 'RS256' },
} as const
const GITHUB_ACTIONS: TestPlatform = {
  issuer: 'https://token.actions.githubusercontent.com',
  platform: 'github',
  ...RS256,
  header: { typ: 'JWT', x5t: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' },
  claims: { repository_id: '1296269', repository_owner_id: '9919', environment: 'production' },
  token: (iat) => ({ ...GITHUB, aud: ISSUER, jti: randomUUID(), iat, nbf: iat - 300, exp: iat + 300 }),
  once: true,
}
const GITLAB_CI: TestPlatform = {
  issuer: 'https://gitlab.com',
  platform: 'gitlab',
  ...RS256,
  claims: { project_id: '20', ref_protected: 'true' },
  token: (iat) => ({ ...GITLAB, aud: ISSUER, jti: randomUUID(), iat, nbf: iat - 5, exp: iat + 3_600 }),
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
    claims: { pipeline_id: BUILDKITE.pipeline_id, build_branch: 'main' },
    token: (iat) => ({
      ...BUILDKITE,
      sub: `organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:${randomUUID()}:step:build`,
      job_id: randomUUID(),
      aud: ISSUER,
      iat,
      nbf: iat,
      exp: iat + 300,
    }),
    once: false,
  },
  CircleCI: {
    issuer: 'https://oidc.circleci.com/org/2f1a9f54-1c1b-4f3a-9c0e-0d1f4a4d2b11',
    platform: 'circleci',
    ...RS256,
    claims: {
      'oidc.circleci.com/project-id': CIRCLECI['oidc.circleci.com/project-id'],
      'oidc.circleci.com/vcs-origin': CIRCLECI['oidc.circleci.com/vcs-origin'],
      'oidc.circleci.com/vcs-ref': 'refs/heads/main',
    },
    token: (iat) => ({
      ...CIRCLECI,
      sub: `org/2f1a9f54-1c1b-4f3a-9c0e-0d1f4a4d2b11/project/f6f0b1a2/user/${randomUUID()}`,
      aud: ISSUER,
      iat,
      exp: iat + 3_600,
    }),
    once: false,
  },
  'Bitbucket Pipelines': {
    issuer: 'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc',
    platform: 'bitbucket',
    ...RS256,
    claims: { repositoryUuid: BITBUCKET.repositoryUuid, branchName: 'main' },
    token: (iat) => {
      const stepUuid = `{${randomUUID()}}`
      const sub = `${BITBUCKET.repositoryUuid}:${stepUuid}`
      return { ...BITBUCKET, stepUuid, sub, aud: [ISSUER], iat, exp: iat + 3_600 }
    },
    once: false,
  },
  Kubernetes: {
    issuer: 'https://kubernetes.default.svc.cluster.local',
    ...RS256,
    header: {},
    claims: { sub: KUBERNETES.sub },
    token: (iat) => ({
      ...KUBERNETES,
      aud: [ISSUER],
      jti: randomUUID(),
      iat,
      nbf: iat,
      exp: iat + 3_600,
    }),
    once: false,
  },
  SPIFFE: {
    issuer: 'https://oidc-discovery.example.org',
    kind: 'P-256',
    alg: 'ES256',
    header: { typ: 'JWT' },
    key: { use: 'jwt-svid' },
    claims: { sub: 'spiffe://example.org/ns/prod/sa/etl' },
    token: (iat) => ({ sub: 'spiffe://example.org/ns/prod/sa/etl', aud: [ISSUER], iat, exp: iat + 300 }),
    once: false,
  },
  'Google Cloud': {
    issuer: 'https://accounts.google.com',
    ...RS256,
    claims: { sub: '107517467455664443766' },
    token: (iat) => ({
      aud: ISSUER,
      azp: '107517467455664443766',
      email_verified: true,
      sub: '107517467455664443766',
      iat,
      exp: iat + 3_600,
    }),
    once: false,
  },
  AWS: {
    issuer: 'https://a1b2c3d4-5678-90ab-cdef-example11111.tokens.sts.global.api.aws',
    kind: 'P-384',
    alg: 'ES384',
    header: { typ: 'JWT' },
    key: { use: 'sig', alg: 'ES384' },
    claims: { sub: 'arn:aws:iam::123456789012:role/etl' },
    token: (iat) => ({
      aud: ISSUER,
      sub: 'arn:aws:iam::123456789012:role/etl',
      'https://sts.amazonaws.com/': { aws_account: '123456789012' },
      jti: randomUUID(),
      iat,
      exp: iat + 300,
    }),
    once: false,
  },
  'another OpenID issuer': {
    issuer: 'https://login.example.com/8f3a/v2.0',
    kind: 'Ed25519',
    alg: 'EdDSA',
    header: { typ: 'JWT' },
    key: {},
    claims: { sub: '5d7f9a52-7c3b-4b0e-9f9f-7e9b5b0a2d11', azp: 'c2a1' },
    token: (iat) => ({
      sub: '5d7f9a52-7c3b-4b0e-9f9f-7e9b5b0a2d11',
      azp: 'c2a1',
      ver: '2.0',
      aud: ISSUER,
      iat,
      nbf: iat,
      exp: iat + 3_599,
    }),
    once: false,
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

/**
 * A token as the platform makes it, but for `claims` and `header`. Members that are undefined are left out.
 */
export const platformToken = (
  { platform, keys }: Pick<TestWorkload, 'platform' | 'keys'>,
  now_ms: number,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): Promise<string> =>
  signJwt(
    { iss: platform.issuer, ...platform.token(Math.floor(now_ms / 1_000)), ...claims },
    keys.privateKey,
    { alg: platform.alg, kid: 'k1', ...platform.header, ...header },
  )

/** The fields of a token request by a workload. */
export const workloadFields = ({ client }: TestWorkload, token: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  scope: client.scopes.join(' '),
  client_id: client.clientId,
  ...assertionFields(token),
})
