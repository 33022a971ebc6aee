import assert from 'node:assert/strict'
import { WorkloadInput } from '../../apps/api/workload/workload.ts'
import { compareToken, decodePayload } from '../../apps/workspace/src/clients/compare-token.ts'
import type { Credential } from '../../apps/workspace/src/clients/credential.ts'
import {
  detectPlatform,
  missingClaim,
  PLATFORMS,
  type Platform,
  type PlatformId,
  toWorkload,
} from '../../apps/workspace/src/clients/platforms.ts'
import { curl, envFile, platformFile } from '../../apps/workspace/src/clients/snippets.ts'
import { recordedTexts } from '../support/recorded.ts'

const CIRCLE = {
  'oidc.circleci.com/project-id': 'a',
  'oidc.circleci.com/vcs-origin': 'github.com/a/b',
  'oidc.circleci.com/vcs-ref': 'refs/heads/main',
}
const GITHUB = 'https://token.actions.githubusercontent.com'

describe('workspace: the workload that a person describes', () => {
  const EMPTY = { issuer: 'https://a.example', keys: '' }
  const DRAFTS: [PlatformId, typed: Record<string, string>, claims?: Record<string, string>][] = [
    ['github', { repository_id: '7 ', environment: 'a', ref: '' }, { repository_id: '7', environment: 'a' }],
    ['github', { repository_id: '7', ref: 'main' }, { repository_id: '7', ref: 'refs/heads/main' }],
    ['gitlab', { project_id: '22' }, { project_id: '22', ref_protected: 'true' }],
    ['githubEnterprise', { repository_id: '7', ref: 'refs/heads/main' }],
    ['gitlabServer', { project_id: '22', environment: 'a', ref_protected: 'true' }],
    ['buildkite', { pipeline_id: 'a', build_branch: 'main' }],
    ['circleci', { ...CIRCLE, 'oidc.circleci.com/vcs-ref': 'main' }, CIRCLE],
    ['bitbucket', { repositoryUuid: '{a}', branchName: 'main' }],
    ['kubernetes', { sub: 'prod:report' }, { sub: 'system:serviceaccount:prod:report' }],
    ['spiffe', { sub: 'example.org/report' }, { sub: 'spiffe://example.org/report' }],
    ['google', { sub: '112233445566778899001' }],
    ['aws', { sub: 'arn:aws:iam::111122223333:role/report' }],
    ['other', { sub: 'Report' }],
  ]
  const ISSUERS: { [id in PlatformId]?: string } = {
    githubEnterprise: 'https://github.acme.example/_services/token',
    gitlabServer: 'https://gitlab.acme.example',
    circleci: 'https://oidc.circleci.com/org/a',
    bitbucket: 'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc',
    kubernetes: 'https://oidc.cluster.example',
    spiffe: 'https://spire.example.org',
    aws: 'https://0f1e2d3c-aaaa-bbbb-cccc-001122334455.tokens.sts.global.api.aws',
    other: 'https://issuer.example',
  }
  const { assertRecorded } = recordedTexts(new URL('snippets.txt', import.meta.url), [])
  const accessBy = (credential: Credential) => ({
    baseUrl: 'https://api.example',
    vendorId: 'ven_acme',
    clientId: 'cli_1',
    credential,
    scopes: ['analytics:read', 'analytics:write'] as const,
  })
  for (const algorithm of [undefined, 'ES256', 'EdDSA', 'RS256'] as const)
    it(`shows what to paste of a client with ${algorithm ?? 'a secret'}`, () => {
      const credential = algorithm
        ? ({ method: 'private_key_jwt', algorithm } as const)
        : ({ method: 'client_secret', secret: 's3cret' } as const)
      const access = accessBy(credential)
      assertRecorded(algorithm ?? 'a secret', `${curl(access)}\n${envFile(access, credential)}`)
    })
  for (const [id, typed, claims = typed] of DRAFTS)
    it(`compares ${Object.keys(claims)} of ${PLATFORMS[id].title}, and recognizes it again`, () => {
      const issuer = ISSUERS[id] ?? ''
      const workload = toWorkload({ platform: id, issuer: ` ${issuer}`, claims: typed, keys: '' })
      const { issuer: fixed = issuer, platform = null } = PLATFORMS[id]
      assert.deepEqual(workload, { issuer: fixed, platform, claims })
      assert.equal(detectPlatform(workload), id)
      const file = platformFile(accessBy({ method: 'workload_identity', workload }), workload)
      assertRecorded(`${id}: ${Object.keys(claims)}`, `${file.name}\n${file.text}`)
    })

  it('leaves out what was typed for another platform', () => {
    const workload = toWorkload({ ...EMPTY, platform: 'google', claims: { environment: 'a', sub: '1' } })
    assert.deepEqual(workload.claims, { sub: '1' })
  })

  it('misses a claim where the API would refuse what is filled in', () => {
    for (const [platform, { fields }] of Object.entries(PLATFORMS) as [PlatformId, Platform][])
      for (let filled = 0; filled < 2 ** fields.length; filled += 1) {
        const texts = fields.map(({ claim }, index) => [claim, filled & (2 ** index) ? 'a' : ' '])
        const issuer = ISSUERS[platform] ?? ''
        const draft = { platform, issuer, claims: Object.fromEntries(texts), keys: '' }
        const isAccepted = WorkloadInput.safeParse(toWorkload(draft)).success
        assert.equal(missingClaim(draft) === undefined, isAccepted, `${platform}: ${texts}`)
      }
  })
})

describe('workspace: a token compared in the browser', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  const now_s = now.getTime() / 1_000
  const audience = 'https://api.example'
  const claims = { repository_id: '1296269', environment: 'production' }
  const payload = { iss: GITHUB, ...claims, aud: audience, iat: now_s - 10, exp: now_s + 290 }
  const jwt = (body: unknown) => `e30.${Buffer.from(JSON.stringify(body)).toString('base64url')}.c2ln`
  const compare = (body: object) =>
    compareToken(jwt({ ...payload, ...body }), { issuer: GITHUB, claims }, { audience, now })
  const differing = (body: object) =>
    compare(body)
      .filter(({ matches }) => !matches)
      .map(({ name }) => name)

  const DIFFERING: [what: string, change: object, names: string[]][] = [
    ['nothing', {}, []],
    ['a list of one audience', { aud: [audience] }, []],
    ['case', { environment: 'Production' }, ['environment']],
    ['a number', { repository_id: 1296269 }, ['repository_id']],
    ['a list', { environment: ['production'] }, ['environment']],
    ['an absent claim', { environment: undefined }, ['environment']],
    ['the issuer', { iss: `${GITHUB}/` }, ['iss']],
    ['another audience as well', { aud: [audience, 'https://b.example'] }, ['aud']],
    ['no audience', { aud: undefined }, ['aud']],
    ['an end in the past', { exp: now_s }, ['exp']],
    ['a life of more than an hour', { exp: now_s + 3_600 }, ['exp']],
    ['no start', { iat: undefined }, ['exp']],
  ]
  for (const [what, change, names] of DIFFERING)
    it(`finds what differs: ${what}`, () => assert.deepEqual(differing(change), names))

  it('shows both texts, letters outside ASCII too', () => {
    const environment = compare({ environment: 'Prüfung' }).find(({ name }) => name === 'environment')
    assert.deepEqual([environment?.expected, environment?.actual], ['production', 'Prüfung'])
  })

  for (const text of ['', 'a.b', 'e30.!.c2ln', `e30.${btoa('1')}.c2ln`, `e30.${btoa('null')}.c2ln`])
    it(`does not take ${JSON.stringify(text)} for a JWT`, () => assert.equal(decodePayload(text), undefined))

  it('names what is compared before there is a token', () => {
    const compared = compareToken('', { issuer: GITHUB, claims }, { audience, now })
    const shown = compared.map(({ name, matches }) => `${name} ${matches}`)
    const names = ['iss', 'repository_id', 'environment', 'aud']
    assert.deepEqual(
      shown,
      names.map((name) => `${name} undefined`),
    )
  })
})
