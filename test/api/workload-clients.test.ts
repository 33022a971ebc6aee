import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import type { JWK } from 'jose'
import { freshOwner, sharedApi } from '../support/api.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'

const ISSUER = 'https://kubernetes.default.svc.cluster.local'
const SUBJECT = { sub: 'system:serviceaccount:prod:etl' }

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
      { ...p256, kid: 'of\0nothing' },
      { ...p256, kid: 'half a pair: \ud83d' },
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
