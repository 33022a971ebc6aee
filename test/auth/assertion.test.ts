import { strict as assert } from 'node:assert'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import {
  assertionFields,
  createKeyClient,
  encode,
  goodClaims,
  type KeyPair,
  signAssertion,
  signByHand,
  signJwt,
} from '../support/assertions.ts'
import { type AuthResponse, fingerprint, sharedAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { ISSUER } from '../support/issuer.ts'
import { refusalReasons } from '../support/log.ts'

const PATH = '/v1/oauth/token'
type Fields = Record<string, string | undefined>

describe('client assertions', () => {
  const auth = sharedAuth({ trusted: true })
  // So that a bound can be met to the second.
  before(() => auth.clock.set(now_s() * 1_000))
  const client = forBlock(() => createKeyClient(auth))
  const other = forBlock(() => createKeyClient(auth))
  const withSecret = forBlock(() => auth.createClient())

  const send = (fields: Fields, headers?: Record<string, string>) =>
    auth.post(PATH, { grant_type: 'client_credentials', scope: 'analytics:read', ...fields }, headers)
  const sendAssertion = (assertion: string, fields: Fields = {}) =>
    send({ ...assertionFields(assertion), ...fields })
  const assertion = (claims?: Fields | object, header?: object) =>
    signAssertion(client, auth.clock.now(), { ...claims }, { ...header })
  const now_s = () => Math.floor(auth.clock.now() / 1_000)

  for (const [kind, alg] of [
    ['P-256', 'ES256'],
    ['Ed25519', 'Ed25519'],
    ['Ed25519', 'EdDSA'],
    ['RSA', 'PS256'],
    ['RSA', 'RS256'],
  ] as const)
    it(`accepts ${alg} from a client with a key of ${kind}`, async () => {
      const its = await createKeyClient(auth, { kind })
      const { status } = await sendAssertion(await signAssertion(its, auth.clock.now(), {}, { alg }))
      assert.equal(status, 200)
    })

  const accepted: Record<string, { claims?: () => object; header?: object; fields?: () => Fields }> = {
    'a list of one audience': { claims: () => ({ aud: [ISSUER] }) },
    'typ JWT': { header: { typ: 'JWT' } },
    'typ client-authentication+jwt': { header: { typ: 'client-authentication+jwt' } },
    'a kid that means nothing here': { header: { kid: 'mine' } },
    'its client_id beside it': { fields: () => ({ client_id: client.clientId }) },
    'no iat': { claims: () => ({ iat: undefined }) },
    'an exp an hour ahead': { claims: () => ({ exp: now_s() + 3_600 }) },
    'an hour from an iat of 120 s ahead': {
      claims: () => ({ iat: now_s() + 120, nbf: now_s() + 120, exp: now_s() + 3_720 }),
    },
    'a jti of 255 characters': { claims: () => ({ jti: newClientId().padEnd(255, 'j') }) },
  }
  for (const [what, { claims, header, fields }] of Object.entries(accepted))
    it(`accepts ${what}`, async () => {
      const response = await sendAssertion(await assertion(claims?.(), header), fields?.())
      assert.equal(response.status, 200, response.text)
    })

  const good = () => goodClaims(client, auth.clock.now())
  const byHand = (header: object, claims: object | string = good()) =>
    signByHand(client, { alg: 'ES256', ...header }, claims)
  const signedBy = ({ privateKey }: KeyPair, header: object = {}) =>
    signJwt(good(), privateKey, { alg: 'ES256', ...header })

  const ASSERTIONS: Record<string, [assertion: () => string | Promise<string>, reason: string]> = {
    'alg none': [() => `${encode({ alg: 'none' })}.${encode(good())}.`, 'assertion_malformed'],
    'HS256 with the public key as secret': [
      () => {
        const pem = client.keys.publicKey.export({ type: 'spki', format: 'pem' })
        return signJwt(good(), Buffer.from(pem), { alg: 'HS256' })
      },
      'assertion_malformed',
    ],
    'another key': [() => signedBy(other.keys), 'assertion_wrong_key'],
    'another key, which it brings along': [
      () => signedBy(other.keys, { jwk: other.keys.jwk, jku: 'https://x.test/', x5c: ['AA'] }),
      'assertion_wrong_key',
    ],
    'a changed payload': [
      async () => {
        const [header, , signature] = (await assertion()).split('.')
        return [header, encode(good()), signature].join('.')
      },
      'assertion_wrong_key',
    ],
    crit: [() => byHand({ crit: ['exp'], exp: 1 }), 'assertion_malformed'],
    'crit with b64, which jose knows': [() => byHand({ crit: ['b64'], b64: true }), 'assertion_malformed'],
    'b64 without crit': [() => byHand({ b64: true }), 'assertion_malformed'],
    'an access token of its own': [
      async () => {
        const { json } = await sendAssertion(await assertion())
        auth.logLines.length = 0
        return json.access_token
      },
      'assertion_malformed',
    ],
    'an infinite exp': [
      () => byHand({}, JSON.stringify({ ...good(), exp: 0 }).replace('"exp":0', '"exp":1e999')),
      'assertion_too_far_ahead',
    ],
    'a payload that is no object': [() => byHand({}, '"x"'), 'assertion_malformed'],
    'nearly 8 KiB of garbage': [() => 'a.'.repeat(3_900), 'assertion_malformed'],
    'nearly 8 KiB of brackets': [
      () => `${encode({ alg: 'ES256' })}.${btoa('['.repeat(5_700))}.AA`,
      'assertion_malformed',
    ],
  }

  async function assertRefused(attempt: () => Promise<AuthResponse>, reason: string): Promise<void> {
    const wrong = { client_id: withSecret.clientId, client_secret: 'wrong' }
    const reference = fingerprint(await send(wrong))
    assert.equal(reference.status, 401)
    auth.logLines.length = 0
    assert.deepEqual(fingerprint(await attempt()), reference)
    assert.deepEqual(refusalReasons(auth), [reason])
  }
  for (const [what, [hostile, reason]] of Object.entries(ASSERTIONS))
    it(`answers ${what} with the bytes of a wrong secret`, () =>
      assertRefused(async () => sendAssertion(await hostile()), reason))

  it('takes at the revocation endpoint also its URL as audience, and no other endpoint’s', async () => {
    const path = '/v1/oauth/revoke'
    const revoke = (sent: string) => auth.post(path, { token: 'x', ...assertionFields(sent) })
    assert.equal((await revoke(await assertion({ aud: ISSUER + path }))).status, 200)
    assert.equal((await revoke(await assertion({ aud: `${ISSUER}/v1/oauth/introspect` }))).status, 401)
    assert.equal((await revoke(await signedBy(other.keys))).status, 401)
  })

  it('refuses an assertion sent twice, or in the query', async () => {
    const form = new URLSearchParams(assertionFields(await assertion()))
    form.append('grant_type', 'client_credentials')
    assert.equal((await auth.post(`${PATH}?${form}`, '')).status, 400)
    form.append('client_assertion', form.get('client_assertion') ?? '')
    assert.equal((await auth.post(PATH, form.toString())).status, 400)
  })
})
