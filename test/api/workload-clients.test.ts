import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { JWK } from 'jose'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const SUBJECT = { sub: 'system:serviceaccount:prod:etl' }
const GITHUB = 'https://token.actions.githubusercontent.com'
const GITLAB = 'https://gitlab.com'
const BUILDKITE = 'https://agent.buildkite.com'
const CIRCLECI = 'https://oidc.circleci.com/org/a'
const CIRCLE = 'oidc.circleci.com'
const BITBUCKET = 'https://api.bitbucket.org/2.0/workspaces/acme/pipelines-config/identity/oidc'
const SERVER = 'https://ci.acme.example'

const ec = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })
const rsaOf = (modulusLength: number) =>
  generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
const rsa = rsaOf(2_048)
const p256 = ec('P-256')
const small = rsaOf(1_024)
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
const keySet = (...keys: object[]) => ({ keys })
const KEYS = keySet({ ...rsa, kid: 'k1', use: 'sig', alg: 'RS256' })

describe('POST /v1/vendor/{vendor_id}/oauth-clients with a workload', () => {
  const api = sharedApi()
  const owner = freshOwner(api)

  const VALID = { name: 'Warehouse', scopes: ['analytics:read'] }
  const create = (workload: unknown, more: object = {}, headers: Record<string, string> = {}) =>
    owner.request('POST', 'oauth-clients', { body: { ...VALID, workload, ...more }, headers })
  const issuers = async () => {
    const answer = await owner.request('GET', 'workload-issuers')
    assert.equal(answer.status, 200, answer.text)
    return answer.json.issuers
  }
  const put = (body: object, person = owner) => person.request('PUT', 'workload-issuers', { body })
  const storedKeys = async (): Promise<JWK[]> =>
    (await api.db.raw('select keys from workload_issuers where vendor_id = ?', [owner.vendorId])).rows[0].keys

  it('creates a client without a secret, which has the workload in every answer', async () => {
    const { status, json } = await create({ issuer: ISSUER, claims: SUBJECT, keys: KEYS })
    assert.equal(status, 201)
    const workload = { issuer: ISSUER, platform: null, claims: SUBJECT }
    const none = { secretHint: null, keyThumbprint: null }
    const stored = { ...none, authMethod: 'workload_identity', workload }
    assert.partialDeepStrictEqual(json, { ...stored, clientSecret: null })
    for (const path of [`oauth-clients/${json.clientId}`, 'oauth-clients']) {
      const answer = await owner.request('GET', path)
      assert.partialDeepStrictEqual(answer.json.clients?.[0] ?? answer.json, stored)
    }
    const { json: activity } = await owner.request('GET', 'activity')
    assert.partialDeepStrictEqual(activity.entries[0], {
      action: 'client.created',
      subject: json.clientId,
      detail: { workload: { issuer: ISSUER, claims: SUBJECT } },
    })
  })

  it('is the same request with its claims in another order, and another one with other claims or keys', async () => {
    const headers = { 'Idempotency-Key': 'a' }
    const claims = { sub: 'a', namespace: 'b' }
    const first = await create({ issuer: ISSUER, claims, keys: KEYS }, {}, headers)
    const reordered = { namespace: 'b', sub: 'a' }
    const repeat = await create({ issuer: ISSUER, claims: reordered, keys: KEYS }, {}, headers)
    assert.deepEqual([first.status, repeat.status], [201, 200])
    assert.equal(repeat.json.clientId, first.json.clientId)
    for (const change of [
      { claims: { ...claims, sub: 'A' } },
      { issuer: `${ISSUER}/` },
      { keys: keySet(ed) },
    ]) {
      const other = { issuer: ISSUER, claims, keys: KEYS, ...change }
      assertProblem(await create(other, {}, headers), 'idempotency_key_reused')
    }
  })

  const ISSUERS_REFUSED: Record<string, unknown> = {
    'no TLS': 'http://issuer.example',
    'no host': 'https://',
    'a query': 'https://issuer.example?a',
    'a fragment': 'https://issuer.example#a',
    'a space': 'https://issuer.example/a b',
    'a user and a password': 'https://u:p@issuer.example',
    'a dot after its host': 'https://token.actions.githubusercontent.com.',
    'the port that https has anyway': 'https://token.actions.githubusercontent.com:443',
    '513 characters': `https://${'i'.repeat(505)}`,
  }
  for (const [what, issuer] of Object.entries(ISSUERS_REFUSED))
    it(`refuses an issuer with ${what}`, async () =>
      assertInvalid(await create({ issuer, claims: SUBJECT, keys: KEYS }), '/workload/issuer'))

  const CLAIMS_REFUSED: Record<string, [claims: unknown, pointer?: string]> = {
    'no claims': [{}],
    'nine claims': [Object.fromEntries(Array.from({ length: 9 }, (_, i) => [i ? `c${i}` : 'sub', 'a']))],
    'the issuer': [{ sub: 'a', iss: ISSUER }, '/workload/claims/iss'],
    'the audience': [{ sub: 'a', aud: 'a' }, '/workload/claims/aud'],
    'an end': [{ sub: 'a', exp: '1' }, '/workload/claims/exp'],
    'a start': [{ sub: 'a', nbf: '1' }, '/workload/claims/nbf'],
    'a time': [{ sub: 'a', iat: '1' }, '/workload/claims/iat'],
    'an id': [{ sub: 'a', jti: '1' }, '/workload/claims/jti'],
    'a name of 65 characters': [{ sub: 'a', ['n'.repeat(65)]: 'c' }, `/workload/claims/${'n'.repeat(65)}`],
    'a value of 256 characters': [{ sub: 'a'.repeat(256) }, '/workload/claims/sub'],
    'a character that turns the text around': [{ sub: 'a\u202Eb' }, '/workload/claims/sub'],
    'a name that a reader of objects may drop': [JSON.parse('{"sub":"a","__proto__":"b"}')],
    'a list of values': [{ sub: ['a'] }, '/workload/claims/sub'],
  }
  for (const [what, [claims, pointer = '/workload/claims']] of Object.entries(CLAIMS_REFUSED))
    it(`refuses claims with ${what}`, async () =>
      assertInvalid(await create({ issuer: ISSUER, claims, keys: KEYS }), pointer))

  const NAMING: [string, Record<string, string>, (RegExp | undefined)?, string?][] = [
    [ISSUER, { namespace: 'prod' }, /must name sub:/],
    [GITHUB, { repository: 'acme/etl' }, /sub, or repository_id, and environment or ref or job_workflow_ref/],
    [GITHUB, { repository_id: '20' }, /sub, or environment or ref or job_workflow_ref/],
    [`${GITHUB}/acme`, { repository_id: '20' }, /sub, or environment or ref or job_workflow_ref/],
    ['https://token.actions.acme.ghe.com', { ref: 'refs/heads/main' }, /sub, or repository_id/],
    [BUILDKITE, { pipeline_id: 'a' }, /must name build_branch or build_tag:/],
    [BUILDKITE, { pipeline_slug: 'a', build_branch: 'main' }, /must name pipeline_id:/],
    [BUILDKITE, { sub: 'a', pipeline_id: 'a', build_branch: 'main' }, /must not name sub, .* of buildkite/],
    [CIRCLECI, { [`${CIRCLE}/project-id`]: 'a', [`${CIRCLE}/vcs-ref`]: 'a' }, /must name .*vcs-origin:/],
    [CIRCLECI, { sub: 'org/a/project/b/user/c' }, /must not name sub/],
    [BITBUCKET, { repositoryUuid: '{a}' }, /must name deploymentEnvironmentUuid or branchName:/],
    [BITBUCKET, { branchName: 'main' }, /must name repositoryUuid:/],
    [BITBUCKET, { sub: '{a}:{b}' }, /must not name sub/],
    [SERVER, { project_id: '20', ref_protected: 'true' }, /name sub: .* name the platform of this/],
    [SERVER, { project_path: 'a/b', ref_protected: 'true' }, /sub, or project_id:/, 'gitlab'],
    [SERVER, { project_id: '20', ref_protected: 'true' }, undefined, 'gitlab'],
    [SERVER, { sub: 'project_path:a/b:ref_type:branch:ref:main' }, undefined, 'gitlab'],
    [`${GITHUB}/acme`, { repository_id: '20', ref: 'refs/heads/main' }],
    [BUILDKITE, { pipeline_id: 'a', build_branch: 'main' }],
    [CIRCLECI, { [`${CIRCLE}/project-id`]: 'a', [`${CIRCLE}/vcs-origin`]: 'b', [`${CIRCLE}/vcs-ref`]: 'c' }],
    [BITBUCKET, { repositoryUuid: '{a}', branchName: 'main' }],
    [GITLAB, { project_id: '7' }, /sub, or ref_protected or environment/],
    [GITLAB, { repository_id: '20', ref: 'refs/heads/main' }, /sub, or project_id/],
    [GITHUB, { sub: 'repo:acme@10/etl@20:ref:refs/heads/main' }],
    [GITHUB, { repository_id: '20', ref: 'refs/heads/main' }],
    [GITHUB, { repository_id: '20', job_workflow_ref: 'acme/etl/.github/workflows/a.yml@refs/heads/main' }],
    [GITLAB, { project_id: '7', ref_protected: 'true' }],
  ]
  for (const [issuer, claims, missing, platform] of NAMING)
    it(`${missing ? 'says what is missing in' : 'takes'} ${Object.keys(claims)} of ${platform ?? ''} ${issuer}`, async () => {
      const answer = await create({ issuer, ...(platform && { platform }), claims, keys: KEYS })
      if (!missing) return assert.equal(answer.status, 201, answer.text)
      assertInvalid(answer, '/workload/claims')
      assert.match(answer.json.errors[0].detail, missing)
    })

  const KEYS_REFUSED: Record<string, [keys: unknown, detail: RegExp]> = {
    'a private key': [keySet({ ...rsa, d: 'AQAB' }), /private or shared/],
    'a shared key': [keySet(rsa, { kty: 'oct', k: 'c2VjcmV0' }), /private or shared/],
    '101 usable keys': [keySet(...Array(101).fill(p256)), /at most 100 keys that can verify/],
    '301 keys': [keySet(...Array(301).fill({})), /at most 300 keys, those included/],
    'a key of an algorithm that no token may have': [keySet({ ...rsa, alg: 'RS512' }), /must have a key for/],
    'no keys': [keySet(), /must have a key for signatures/],
    'RSA of 1,024 bits': [keySet(small), /must have a key for signatures/],
    'a key for encryption': [keySet({ ...rsa, use: 'enc' }), /must have a key for signatures/],
    'a point off its curve': [
      keySet({ ...ec('P-384'), x: 'A'.repeat(64) }),
      /must have a key for signatures/,
    ],
  }
  for (const [what, [keys, detail]] of Object.entries(KEYS_REFUSED))
    it(`refuses ${what}`, async () => {
      const answer = await create({ issuer: ISSUER, claims: SUBJECT, keys })
      assertInvalid(answer, '/workload/keys')
      assert.match(answer.json.errors[0].detail, detail)
    })

  it('keeps of each key only what verifying takes, and leaves out those that it cannot use', async () => {
    const p384 = ec('P-384')
    const certificate = { x5c: ['MII'], x5t: 'x', key_ops: ['verify'], n2: 'x' }
    const sent = [
      { ...rsa, kid: 'a', use: 'sig', alg: 'RS256', ...certificate },
      { ...p256, kid: 'b', use: 'jwt-svid' },
      p384,
      { ...ed, kid: 'd', alg: 'EdDSA' },
      { ...ed, kid: 7, use: null, alg: null },
      { ...p256, kid: null },
      ...Array(120).fill({ ...p256, use: 'x509-svid' }),
      { ...rsa, alg: 'RSA-OAEP' },
      { ...rsa, use: 'enc' },
      ec('secp521r1'),
      small,
    ]
    assert.equal((await create({ issuer: ISSUER, claims: SUBJECT, keys: keySet(...sent) })).status, 201)
    assert.deepEqual(await storedKeys(), [
      { ...rsa, kid: 'a', alg: 'RS256' },
      { ...p256, kid: 'b' },
      p384,
      { ...ed, kid: 'd', alg: 'EdDSA' },
      { ...ed, kid: '7' },
      p256,
    ])
  })

  it('keeps the platform of a workload, by its issuer or as the caller says, and refuses another', async () => {
    const github = { issuer: `${GITHUB}/acme`, claims: { sub: 'a' }, keys: KEYS }
    for (const platform of [undefined, null, 'github'])
      assert.equal((await create({ ...github, platform })).json.workload.platform, 'github')
    const server = { issuer: SERVER, claims: { sub: 'a' }, keys: KEYS }
    assert.equal((await create(server)).json.workload.platform, null)
    const { json } = await create({ ...server, platform: 'gitlab' })
    assert.deepEqual(json.workload, { issuer: SERVER, platform: 'gitlab', claims: { sub: 'a' } })
    const answer = await create({ ...github, platform: 'gitlab' })
    assertInvalid(answer, '/workload/platform')
    assert.match(answer.json.errors[0].detail, /^must be github for this issuer, or left out$/)
    assertInvalid(await create({ ...server, platform: 'jenkins' }), '/workload/platform')
  })

  it('refuses a workload beside a public key', async () => {
    const answer = await create({ issuer: ISSUER, claims: SUBJECT, keys: KEYS }, { publicKey: ec('P-256') })
    assertInvalid(answer, '/workload')
  })

  it('does not replace the keys that other clients rely on', async () => {
    await create({ issuer: ISSUER, claims: SUBJECT, keys: KEYS })
    const other = { issuer: ISSUER, claims: { sub: 'another' } }
    assertInvalid(await create({ ...other, keys: keySet(ed) }), '/workload/keys')
    assert.deepEqual(await storedKeys(), [{ ...rsa, kid: 'k1', alg: 'RS256' }])
    assert.equal((await create(other)).status, 201, 'without keys')
    assert.equal((await create({ ...other, keys: KEYS })).status, 201, 'with the same keys')
  })

  it('trusts at most 20 issuers at once', async () => {
    const at = (n: number) => ({ issuer: `https://${n}.example`, claims: SUBJECT, keys: KEYS })
    const created = await Promise.all(Array.from({ length: 21 }, (_, n) => create(at(n))))
    assert.deepEqual(created.map(({ status }) => status).sort(), [...Array(20).fill(201), 422])
    const refused = created.findIndex(({ status }) => status === 422)
    assertInvalid(created[refused] as (typeof created)[0], '/workload/issuer')
    const known = refused === 0 ? 1 : 0
    assert.equal((await create(at(known))).status, 201, 'one that it trusts already')
  })

  describe('and GET, PUT /v1/vendor/{vendor_id}/workload-issuers', () => {
    it('replaces pasted keys of an issuer that an Active client trusts, and says so in the activity', async () => {
      const { json: client } = await create({ issuer: ISSUER, claims: SUBJECT, keys: KEYS })
      const keysAsOf = new Date(api.clock.now()).toISOString()
      const pasted = { issuer: ISSUER, keysFrom: 'pasted', keysAsOf, keyIds: ['k1'], failing: null }
      assert.deepEqual(await issuers(), [pasted])
      api.clock.advance(60_000)
      const answer = await put({ issuer: ISSUER, keys: keySet({ ...ed, kid: 'k2' }) })
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual([answer.json], await issuers())
      const later = new Date(api.clock.now()).toISOString()
      assert.partialDeepStrictEqual(answer.json, { keyIds: ['k2'], keysAsOf: later })
      assert.deepEqual(await storedKeys(), [{ ...ed, kid: 'k2' }])
      const { json } = await owner.request('GET', 'activity')
      assert.partialDeepStrictEqual(json.entries[0], {
        action: 'workload_issuer.keys_replaced',
        subject: ISSUER,
        by: { userId: owner.userId },
        detail: { before: { keyIds: ['k1'] }, after: { keyIds: ['k2'] } },
      })
      await owner.request('POST', `oauth-clients/${client.clientId}/revoke`)
      assert.deepEqual(await issuers(), [])
    })

    it('refuses a private key, an issuer that no client trusts, and one whose keys are fetched', async () => {
      await create({ issuer: ISSUER, claims: SUBJECT, keys: KEYS })
      assertInvalid(await put({ issuer: ISSUER, keys: keySet({ ...rsa, d: 'x' }) }), '/keys')
      assertProblem(await put({ issuer: 'https://other.example', keys: KEYS }), 'not_found')
      assertProblem(await put({ issuer: ISSUER, keys: KEYS }, await api.createOwner()), 'not_found')
      await api.db('workload_issuers').where({ vendor_id: owner.vendorId }).update({ keys_from: 'issuer' })
      assertInvalid(await put({ issuer: ISSUER, keys: KEYS }), '/issuer')
      assert.deepEqual(await storedKeys(), [{ ...rsa, kid: 'k1', alg: 'RS256' }])
    })
  })
})
