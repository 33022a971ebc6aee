import { strict as assert } from 'node:assert'
import { createHmac } from 'node:crypto'
import { newClientId } from '#shared/oauth/new-ids.ts'
import {
  assertionFields,
  assertionOf,
  createKeyClient,
  encode,
  goodClaims,
  type KeyClient,
  type KeyKind,
  newKeyPair,
  signByHand,
  signJwt,
} from '../support/assertions.ts'
import {
  type AuthResponse,
  basic,
  startAuth,
  TEST_ISSUER,
  TEST_RESOURCE,
  type TestAuth,
  type TestClient,
} from '../support/auth.ts'
import { requestLines } from '../support/log.ts'

const TOKEN_URL = `${TEST_ISSUER}/v1/oauth/token`
type Fields = Record<string, string | undefined>

/** What a caller can compare, but for what differs between any two answers. */
function fingerprint({ status, headers, text }: AuthResponse) {
  const { date, 'x-request-id': requestId, ...rest } = Object.fromEntries(headers)
  assert.ok(date && requestId)
  return { status, headers: rest, text }
}

for (const path of ['/v1/oauth/token', '/v1/oauth/revoke']) {
  describe(`POST ${path}: client assertions`, () => {
    let auth: TestAuth
    let client: KeyClient
    let other: KeyClient
    let withSecret: TestClient

    before(async () => {
      auth = await startAuth({ trusted: true })
      // So that a bound can be met to the second.
      auth.clock.set(Math.floor(auth.clock.now() / 1_000) * 1_000)
      client = await createKeyClient(auth)
      other = await createKeyClient(auth)
      withSecret = await auth.createClient()
    })
    after(() => auth.stop())

    const send = (fields: Fields, headers?: Record<string, string>) =>
      auth.post(
        path,
        { grant_type: 'client_credentials', scope: 'analytics:read', token: 'x', ...fields },
        headers,
      )
    const sendAssertion = (assertion: string, fields: Fields = {}) =>
      send({ ...assertionFields(assertion), ...fields })
    const assertion = (claims?: Fields | object, header?: object) =>
      assertionOf(client, auth.clock.now(), { ...claims }, { ...header })
    const now_s = () => Math.floor(auth.clock.now() / 1_000)

    const KEYS: [KeyKind, string][] = [
      ['P-256', 'ES256'],
      ['Ed25519', 'Ed25519'],
      ['Ed25519', 'EdDSA'],
      ['RSA', 'PS256'],
      ['RSA', 'RS256'],
    ]
    for (const [kind, alg] of KEYS)
      it(`accepts ${alg} from a client with a key of ${kind}`, async () => {
        const its = await createKeyClient(auth, { kind })
        const { status } = await sendAssertion(await assertionOf(its, auth.clock.now(), {}, { alg }))
        assert.equal(status, 200)
      })

    const accepted: Record<string, { claims?: () => object; header?: object; fields?: () => Fields }> = {
      'the token endpoint as audience': { claims: () => ({ aud: TOKEN_URL }) },
      'the endpoint that is called as audience': { claims: () => ({ aud: TEST_ISSUER + path }) },
      'a list of one audience': { claims: () => ({ aud: [TEST_ISSUER] }) },
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

    /** Each with the reason that the log has. */
    const hostile: Record<string, [() => Promise<AuthResponse>, reason: string]> = {
      'alg none': [
        async () =>
          sendAssertion(`${encode({ alg: 'none' })}.${encode(goodClaims(client, auth.clock.now()))}.`),
        'assertion_malformed',
      ],
      'HS256 with the public key as secret': [
        async () => {
          const pem = client.keys.publicKey.export({ type: 'spki', format: 'pem' })
          const signed = `${encode({ alg: 'HS256' })}.${encode(goodClaims(client, auth.clock.now()))}`
          return sendAssertion(`${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`)
        },
        'assertion_malformed',
      ],
      'another key': [
        async () => sendAssertion(await assertionOf({ ...client, keys: other.keys }, auth.clock.now())),
        'assertion_wrong_key',
      ],
      'another key, which it brings along': [
        async () => {
          const { jwk, privateKey } = newKeyPair()
          const header = { alg: 'ES256', jwk, jku: 'https://x.test/', x5c: ['AA'] }
          return sendAssertion(await signJwt(goodClaims(client, auth.clock.now()), privateKey, header))
        },
        'assertion_wrong_key',
      ],
      'a changed payload': [
        async () => {
          const [header, , signature] = (await assertion()).split('.')
          return sendAssertion([header, encode(goodClaims(client, auth.clock.now())), signature].join('.'))
        },
        'assertion_wrong_key',
      ],
      'an algorithm of another kind of key': [
        async () => {
          const { privateKey } = newKeyPair('RSA')
          return sendAssertion(
            await signJwt(goodClaims(client, auth.clock.now()), privateKey, { alg: 'RS256' }),
          )
        },
        'assertion_wrong_algorithm',
      ],
      crit: [
        async () => {
          const header = { alg: 'ES256', crit: ['exp'], exp: 1 }
          return sendAssertion(signByHand(client, header, goodClaims(client, auth.clock.now())))
        },
        'assertion_malformed',
      ],
      'crit with b64, which jose knows': [
        async () => {
          const header = { alg: 'ES256', crit: ['b64'], b64: true }
          return sendAssertion(signByHand(client, header, goodClaims(client, auth.clock.now())))
        },
        'assertion_malformed',
      ],
      'b64 without crit': [
        async () =>
          sendAssertion(
            signByHand(client, { alg: 'ES256', b64: true }, goodClaims(client, auth.clock.now())),
          ),
        'assertion_malformed',
      ],
      'typ at+jwt': [
        async () => sendAssertion(await assertion({}, { typ: 'at+jwt' })),
        'assertion_malformed',
      ],
      'an access token of its own': [
        async () => {
          const fields = assertionFields(await assertion())
          const { json } = await auth.post('/v1/oauth/token', {
            grant_type: 'client_credentials',
            scope: 'analytics:read',
            ...fields,
          })
          auth.logLines.length = 0
          return sendAssertion(json.access_token)
        },
        'assertion_malformed',
      ],
      'two audiences': [
        async () => sendAssertion(await assertion({ aud: [TEST_ISSUER, TOKEN_URL] })),
        'assertion_wrong_audience',
      ],
      'no audience': [
        async () => sendAssertion(await assertion({ aud: undefined })),
        'assertion_wrong_audience',
      ],
      'an empty list of audiences': [
        async () => sendAssertion(await assertion({ aud: [] })),
        'assertion_wrong_audience',
      ],
      'a list in a list of audiences': [
        async () => sendAssertion(await assertion({ aud: [[TEST_ISSUER]] })),
        'assertion_wrong_audience',
      ],
      'another server as audience': [
        async () => sendAssertion(await assertion({ aud: 'https://other.test' })),
        'assertion_wrong_audience',
      ],
      'another endpoint of this server as audience': [
        async () => {
          const elsewhere = path === '/v1/oauth/token' ? '/v1/oauth/revoke' : '/v1/oauth/introspect'
          return sendAssertion(await assertion({ aud: TEST_ISSUER + elsewhere }))
        },
        'assertion_wrong_audience',
      ],
      'the API as audience': [
        async () => sendAssertion(await assertion({ aud: TEST_RESOURCE })),
        'assertion_wrong_audience',
      ],
      'the issuer with a slash as audience': [
        async () => sendAssertion(await assertion({ aud: `${TEST_ISSUER}/` })),
        'assertion_wrong_audience',
      ],
      'an exp more than an hour ahead': [
        async () => sendAssertion(await assertion({ exp: now_s() + 3_601 })),
        'assertion_too_far_ahead',
      ],
      'an exp a year ahead': [
        async () => sendAssertion(await assertion({ iat: undefined, exp: now_s() + 31_536_000 })),
        'assertion_too_far_ahead',
      ],
      'an infinite exp': [
        async () => {
          const claims = JSON.stringify({ ...goodClaims(client, auth.clock.now()), exp: 0 })
          return sendAssertion(signByHand(client, { alg: 'ES256' }, claims.replace('"exp":0', '"exp":1e999')))
        },
        'assertion_too_far_ahead',
      ],
      'an exp that is now': [
        async () => sendAssertion(await assertion({ exp: now_s() })),
        'assertion_expired',
      ],
      'an exp that is a text': [
        async () => sendAssertion(await assertion({ exp: String(now_s() + 60) })),
        'assertion_no_exp',
      ],
      'no exp': [async () => sendAssertion(await assertion({ exp: undefined })), 'assertion_no_exp'],
      'an iat more than 120 s ahead': [
        async () => sendAssertion(await assertion({ iat: now_s() + 121, exp: now_s() + 180 })),
        'assertion_from_the_future',
      ],
      'an nbf more than 120 s ahead': [
        async () => sendAssertion(await assertion({ nbf: now_s() + 121, exp: now_s() + 180 })),
        'assertion_from_the_future',
      ],
      'an iat that is a text': [
        async () => sendAssertion(signByHand(client, { alg: 'ES256' }, withIat('1'))),
        'assertion_malformed',
      ],
      'no jti': [async () => sendAssertion(await assertion({ jti: undefined })), 'assertion_no_jti'],
      'an empty jti': [async () => sendAssertion(await assertion({ jti: '' })), 'assertion_no_jti'],
      'a jti that is a number': [
        async () => sendAssertion(signByHand(client, { alg: 'ES256' }, withJti(1))),
        'assertion_no_jti',
      ],
      'a jti of 256 characters': [
        async () => sendAssertion(await assertion({ jti: 'j'.repeat(256) })),
        'assertion_no_jti',
      ],
      'another client as subject': [
        async () => sendAssertion(await assertion({ iss: other.clientId, sub: other.clientId })),
        'assertion_wrong_key',
      ],
      'another client as issuer': [
        async () => sendAssertion(await assertion({ iss: other.clientId })),
        'assertion_wrong_subject',
      ],
      'another client as client_id': [
        async () => sendAssertion(await assertion(), { client_id: other.clientId }),
        'assertion_wrong_key',
      ],
      'another client as subject, and its own id beside it': [
        async () => sendAssertion(await assertion({ sub: other.clientId }), { client_id: client.clientId }),
        'assertion_wrong_subject',
      ],
      'another subject than client_id, both its own': [
        async () => {
          const twin = await auth.createClient({ publicKey: client.keys.jwk })
          return sendAssertion(await assertion(), { client_id: twin.clientId })
        },
        'assertion_wrong_subject',
      ],
      'an unknown client': [
        async () => {
          const unknown = { ...client, clientId: newClientId() }
          return sendAssertion(await assertionOf(unknown, auth.clock.now()))
        },
        'unknown_client',
      ],
      'a subject that is not a text': [
        async () => sendAssertion(signByHand(client, { alg: 'ES256' }, { sub: { length: 1 } })),
        'unknown_client',
      ],
      'a subject that cannot become a text': [
        async () => sendAssertion(signByHand(client, { alg: 'ES256' }, { sub: { toString: 1, valueOf: 1 } })),
        'unknown_client',
      ],
      'a client that has a secret': [
        async () => sendAssertion(await assertionOf({ ...withSecret, keys: client.keys }, auth.clock.now())),
        'assertion_of_secret_client',
      ],
      'its secret, though it has a key': [
        () => send({ client_id: client.clientId, client_secret: client.clientSecret }),
        'secret_of_key_client',
      ],
      'another client_assertion_type': [
        async () =>
          sendAssertion(await assertion(), {
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer',
            client_id: client.clientId,
          }),
        'assertion_malformed',
      ],
      'no client_assertion_type': [
        async () => sendAssertion(await assertion(), { client_assertion_type: undefined }),
        'assertion_malformed',
      ],
      'no client_assertion': [
        () => send({ ...assertionFields(''), client_assertion: undefined }),
        'assertion_malformed',
      ],
      'no JWT': [() => sendAssertion('x', { client_id: client.clientId }), 'assertion_malformed'],
      'a payload that is no object': [
        async () => sendAssertion(signByHand(client, { alg: 'ES256' }, '"x"')),
        'assertion_malformed',
      ],
      'the name of a property of every object as alg': [
        async () =>
          sendAssertion(`${encode({ alg: '__proto__' })}.${encode(goodClaims(client, auth.clock.now()))}.AA`),
        'assertion_malformed',
      ],
      'nearly 8 KiB of garbage': [() => sendAssertion('a.'.repeat(3_900)), 'assertion_malformed'],
      'nearly 8 KiB of brackets': [
        () => sendAssertion(`${encode({ alg: 'ES256' })}.${btoa('['.repeat(5_700))}.AA`),
        'assertion_malformed',
      ],
    }
    const withIat = (iat: unknown) => ({ ...goodClaims(client, auth.clock.now()), iat })
    const withJti = (jti: unknown) => ({ ...goodClaims(client, auth.clock.now()), jti })

    for (const [what, [attempt, reason]] of Object.entries(hostile))
      it(`answers ${what} with the bytes of a wrong secret`, async () => {
        const wrong = { client_id: withSecret.clientId, client_secret: 'wrong' }
        const reference = fingerprint(await send(wrong))
        assert.equal(reference.status, 401)
        auth.logLines.length = 0
        assert.deepEqual(fingerprint(await attempt()), reference)
        const reasons = requestLines(auth).map((line) => line.reason)
        assert.deepEqual(reasons, [reason])
      })

    const twoWays: Record<string, () => Promise<[Fields, Record<string, string>]>> = {
      'a secret': async () => [{ client_secret: client.clientSecret }, {}],
      'HTTP Basic': async () => [{}, { authorization: basic(client.clientId, client.clientSecret) }],
    }
    for (const [what, beside] of Object.entries(twoWays))
      it(`refuses ${what} beside a good assertion`, async () => {
        const [fields, headers] = await beside()
        const response = await send({ ...assertionFields(await assertion()), ...fields }, headers)
        assert.deepEqual([response.status, response.json.error], [400, 'invalid_request'])
      })

    it('refuses an assertion sent twice, or in the query', async () => {
      const once = await assertion()
      const fields = { ...assertionFields(once), grant_type: 'client_credentials', token: 'x' }
      const form = new URLSearchParams(fields)
      form.append('client_assertion', once)
      assert.equal((await auth.post(path, form.toString())).status, 400)
      const query = new URLSearchParams(fields)
      assert.equal((await auth.post(`${path}?${query}`, '')).status, 400)
    })
  })
}
