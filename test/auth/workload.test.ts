import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import { CLIENT_RECORD_LIFETIME_MS } from '../../apps/auth/client-records.ts'
import { encode, newKeyPair, signJwt } from '../support/assertions.ts'
import { type AuthResponse, fingerprint, sharedAuth, startAuth } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { ISSUER } from '../support/issuer.ts'
import {
  createWorkload,
  platformToken,
  TEST_PLATFORMS,
  type TestWorkload,
  workloadFields,
} from '../support/workload-tokens.ts'

const HOUR_MS = 3_600_000
const CONTROLS = { RATE_TOKEN_FAILURES_PER_ADDRESS: '100000/60' }

describe('a workload at POST /v1/oauth/token', () => {
  const auth = sharedAuth({ trusted: true, env: CONTROLS })
  let wrongSecret: ReturnType<typeof fingerprint>
  before(async () => {
    const client = await auth.createClient()
    wrongSecret = fingerprint(await auth.token(client, { client_secret: 'wrong' }))
  })

  const now_s = () => Math.floor(auth.clock.now() / 1_000)
  const send = async (
    workload: TestWorkload,
    token: string,
    fields: Record<string, string | undefined> = {},
  ) => auth.post('/v1/oauth/token', { ...workloadFields(workload, token), ...fields })
  const signToken = (workload: TestWorkload, claims = {}, header = {}) =>
    platformToken(workload, auth.clock.now(), claims, header)
  const replaceKeys = (
    { platform, client: { vendorId } }: TestWorkload,
    keys: object[],
    keysFrom: 'issuer' | 'pasted' = 'issuer',
  ) =>
    saveIssuerKeys(
      auth.db,
      { vendorId, issuer: platform.issuer },
      { keys, keysFrom, keysAsOf: new Date(auth.clock.now()) },
    )

  const assertRefused = (answer: AuthResponse) => assert.deepEqual(fingerprint(answer), wrongSecret)

  for (const [name, platform] of Object.entries(TEST_PLATFORMS))
    describe(`of ${name}`, () => {
      const workload = forBlock(() => createWorkload(auth, platform))
      const stranger = forBlock(() => createWorkload(auth, platform))

      it('gets a token for a platform’s token, as it is', async () => {
        const answer = await send(workload, await signToken(workload))
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.json.token_type, 'Bearer')
      })

      it(`${platform.once ? 'uses a platform’s token once' : 'uses a platform’s token until it expires'}`, async () => {
        const token = await signToken(workload)
        const answers = [await send(workload, token), await send(workload, token)]
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, platform.once ? 401 : 200],
        )
        if (platform.once) assertRefused(answers[1] as AuthResponse)
      })

      it('gets a token for a platform’s token with the type of a JWT-SVID', async () => {
        const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
        const answer = await send(workload, await signToken(workload), { client_assertion_type: type })
        assert.equal(answer.status, 200, answer.text)
      })

      const FORMS: Record<string, Record<string, unknown>> = {
        'the type in lower case': { typ: 'jwt' },
        'the type as a whole media type': { typ: 'application/JWT' },
        'the type that SPIFFE allows': { typ: 'JOSE' },
        'no type': { typ: undefined },
        'no kid': { kid: undefined },
        'null for a kid': { kid: null },
      }
      for (const [what, header] of Object.entries(FORMS))
        it(`gets a token for a platform’s token with ${what}`, async () => {
          const answer = await send(workload, await signToken(workload, {}, header))
          assert.equal(answer.status, 200, answer.text)
        })

      it('revokes a token of its own', async () => {
        const { json } = await send(workload, await signToken(workload))
        const answer = await auth.post('/v1/oauth/revoke', {
          ...workloadFields(workload, await signToken(workload)),
          token: json.access_token,
        })
        assert.deepEqual([answer.status, answer.text], [200, ''])
      })

      const rogue = newKeyPair(platform.kind)
      const [claim = 'sub', value = ''] = Object.entries(platform.claims)[0] ?? []
      const CLAIMS: Record<string, (iat: number) => Record<string, unknown>> = {
        'another value': () => ({ [claim]: `${value}x` }),
        'a longer value': () => ({ [claim]: `x${value}` }),
        'a shorter value': () => ({ [claim]: value.slice(0, -1) }),
        'a wildcard': () => ({ [claim]: '*' }),
        'a value that ends in a wildcard': () => ({ [claim]: `${value.slice(0, -2)}*` }),
        'an empty value': () => ({ [claim]: '' }),
        'no such claim': () => ({ [claim]: undefined }),
        null: () => ({ [claim]: null }),
        'a list with the value': () => ({ [claim]: [value] }),
        'a list of two': () => ({ [claim]: [value, 'x'] }),
        'an object': () => ({ [claim]: { value } }),
        true: () => ({ [claim]: true }),
        'the value as a number': () => ({ [claim]: Number(value) || 1 }),
        'a space before': () => ({ [claim]: ` ${value}` }),
        'a line end': () => ({ [claim]: `${value}\n` }),
        'a zero byte': () => ({ [claim]: `${value}\u0000` }),
        'another issuer': () => ({ iss: 'https://evil.example' }),
        'the issuer with a slash': () => ({ iss: `${platform.issuer}/` }),
        'the issuer in capitals': () => ({ iss: platform.issuer.toUpperCase() }),
        'the issuer in a list': () => ({ iss: [platform.issuer] }),
        'no issuer': () => ({ iss: undefined }),
        'another audience': () => ({ aud: 'https://other.example' }),
        'two audiences': () => ({ aud: [ISSUER, 'https://other.example'] }),
        'our audience twice': () => ({ aud: [ISSUER, ISSUER] }),
        'the token endpoint as audience': () => ({ aud: `${ISSUER}/v1/oauth/token` }),
        'our audience with a slash': () => ({ aud: `${ISSUER}/` }),
        'no audience': () => ({ aud: undefined }),
        'an empty list of audiences': () => ({ aud: [] }),
        'a nested list of audiences': () => ({ aud: [[ISSUER]] }),
        'an object as audience': () => ({ aud: { 0: ISSUER } }),
        'no end': () => ({ exp: undefined }),
        'an end that is text': (iat) => ({ exp: String(iat + 300) }),
        'an end in milliseconds': (iat) => ({ exp: (iat + 300) * 1_000 }),
        'an end without end': () => ({ exp: 1e308 }),
        'an end in the past': (iat) => ({ iat: iat - 400, nbf: iat - 400, exp: iat - 1 }),
        'more than an hour': (iat) => ({ iat, exp: iat + 3_601 }),
        'more than an hour, begun before': (iat) => ({ iat: iat - 3_000, exp: iat + 1_000 }),
        'a day without a beginning': (iat) => ({ iat: undefined, exp: iat + 86_400 }),
        'a beginning in the future': (iat) => ({ iat: iat + 500, exp: iat + 1_000 }),
        'a start in the future': (iat) => ({ nbf: iat + 500 }),
        'a start that is text': () => ({ nbf: 'now' }),
        'a beginning that is text': () => ({ iat: 'now' }),
      }
      for (const [what, claims] of Object.entries(CLAIMS))
        it(`is refused with ${what}`, async () => {
          assertRefused(await send(workload, await signToken(workload, claims(now_s()))))
        })
      if (/[a-z]/i.test(value))
        it('is refused with the value in other case', async () => {
          assertRefused(await send(workload, await signToken(workload, { [claim]: value.toUpperCase() })))
        })
      if (platform.once)
        for (const [what, jti] of Object.entries({
          'no id': undefined,
          'an empty id': '',
          'an id of 256': 'x'.repeat(256),
          'an id that is a number': 7,
        }))
          it(`is refused with ${what}`, async () => {
            assertRefused(await send(workload, await signToken(workload, { jti })))
          })

      const HEADERS: Record<string, Record<string, unknown>> = {
        'the type of an access token': { typ: 'at+jwt' },
        'the type of a client’s own assertion': { typ: 'client-authentication+jwt' },
        'a type in a list': { typ: ['JWT'] },
        'an empty type': { typ: '' },
        'another kid': { kid: 'k2' },
      }
      for (const [what, header] of Object.entries(HEADERS))
        it(`is refused with ${what}`, async () => {
          assertRefused(await send(workload, await signToken(workload, {}, header)))
        })

      const byRogue = async (header: Record<string, unknown> = {}, claims = {}) =>
        platformToken({ ...workload, keys: rogue }, auth.clock.now(), claims, header)
      const FORGED: Record<string, () => Promise<string> | string> = {
        'a signature of another key': () => byRogue(),
        'a key of its own in the header': () => byRogue({ jwk: rogue.jwk }),
        'a key set of its own in the header': () => byRogue({ jku: 'https://evil.example/keys' }),
        'a certificate of its own in the header': () => byRogue({ x5u: 'https://evil.example/cert' }),
        'a token of another company’s workload': () => signToken(stranger),
        'a token without a signature': async () =>
          `${(await signToken(workload)).split('.').slice(0, 2).join('.')}.`,
        'alg none': async () =>
          `${encode({ alg: 'none', kid: 'k1' })}.${(await signToken(workload)).split('.')[1]}.`,
        'alg HS256 with the public key': async () => {
          const signed = `${encode({ alg: 'HS256', kid: 'k1' })}.${(await signToken(workload)).split('.')[1]}`
          const key = workload.keys.publicKey.export({ type: 'spki', format: 'pem' })
          return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
        },
        'another algorithm': async () => {
          const other = newKeyPair(platform.kind === 'P-256' ? 'Ed25519' : 'P-256')
          const alg = platform.kind === 'P-256' ? 'EdDSA' : 'ES256'
          return signJwt({ iss: platform.issuer, ...platform.token(now_s()) }, other.privateKey, {
            alg,
            kid: 'k1',
          })
        },
        'claims changed after signing': async () => {
          const [header, , signature] = (await signToken(workload, { [claim]: 'x' })).split('.')
          return `${header}.${encode({ iss: platform.issuer, ...platform.token(now_s()) })}.${signature}`
        },
        'a crit that no one knows': async () => {
          const [, payload, signature] = (await signToken(workload)).split('.')
          return `${encode({ alg: platform.alg, kid: 'k1', crit: ['x'], x: 1 })}.${payload}.${signature}`
        },
        'claims that are a list': async () => {
          const [header, , signature] = (await signToken(workload)).split('.')
          return `${header}.${encode('[]')}.${signature}`
        },
        'four parts': async () => `${await signToken(workload)}.x`,
        'no JWT': () => 'x',
      }
      for (const [what, forge] of Object.entries(FORGED))
        it(`is refused with ${what}`, async () => assertRefused(await send(workload, await forge())))

      it('is refused as another client, and without its client_id', async () => {
        const keyed = newKeyPair('P-256')
        const others = [await auth.createClient(), await auth.createClient({ publicKey: keyed.jwk })]
        for (const { clientId } of others)
          assertRefused(await send(workload, await signToken(workload), { client_id: clientId }))
        assertRefused(
          await send(workload, await signToken(workload), { client_id: 'cli_4f1D2c3B5a69q78796a5w4' }),
        )
        assertRefused(await send(workload, await signToken(workload), { client_id: undefined }))
        assertRefused(await send(workload, await signToken(workload), { client_assertion_type: 'urn:x' }))
        const { clientId } = workload.client
        assertRefused(await auth.token({ ...workload.client, clientSecret: 'x' }))
        const own = { iss: clientId, sub: clientId, aud: ISSUER, jti: randomUUID(), exp: now_s() + 60 }
        assertRefused(
          await send(
            workload,
            await signJwt(own, workload.keys.privateKey, { alg: platform.alg, kid: 'k1' }),
          ),
        )
      })
    })

  it('is another client in another company with the same issuer, each with its own keys', async () => {
    const platform = TEST_PLATFORMS.Kubernetes as (typeof TEST_PLATFORMS)[string]
    const [mine, theirs] = [await createWorkload(auth, platform), await createWorkload(auth, platform)]
    assert.equal((await send(mine, await signToken(mine))).status, 200)
    assertRefused(await send(theirs, await signToken(mine)))
    assertRefused(await send(mine, await signToken(theirs)))
    const beside = { ...platform, issuer: 'https://cluster-2.example' }
    const { keys } = await createWorkload(auth, beside, { vendorId: mine.client.vendorId })
    assertRefused(await send(mine, await signToken({ ...mine, keys })))
  })

  it('uses a token once over two processes', async () => {
    await using beside = await startAuth({ beside: auth, env: CONTROLS })
    const workload = await createWorkload(
      auth,
      TEST_PLATFORMS['GitHub Actions'] as (typeof TEST_PLATFORMS)[string],
    )
    const token = await signToken(workload)
    const fields = workloadFields(workload, token)
    const answers = await Promise.all([auth, beside].map((one) => one.post('/v1/oauth/token', fields)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401])
  })

  describe('whose issuer has other keys', () => {
    const platform = TEST_PLATFORMS.Kubernetes as (typeof TEST_PLATFORMS)[string]
    const workload = forEachTest(() => createWorkload(auth, platform))
    const next = newKeyPair('RSA')
    const nextJwk = { ...next.jwk, kid: 'k2' }
    beforeEach(async () => {
      assert.equal((await send(workload, await signToken(workload))).status, 200)
    })
    const signNextToken = () => signToken({ ...workload, keys: next }, {}, { kid: 'k2' })

    it('gets a token with a key that was published after its record was read', async () => {
      assertRefused(await send(workload, await signNextToken()))
      auth.clock.advance(1)
      await replaceKeys(workload, [workload.jwk, next.jwk])
      assertRefused(await send(workload, await signNextToken()))
      auth.clock.advance(1)
      await replaceKeys(workload, [workload.jwk, nextJwk])
      assert.equal((await send(workload, await signNextToken())).status, 200)
      assert.equal((await send(workload, await signToken(workload))).status, 200)
    })

    it('is refused with a key that was withdrawn, five minutes later at most', async () => {
      auth.clock.advance(1)
      await replaceKeys(workload, [nextJwk])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      assertRefused(await send(workload, await signToken(workload)))
    })

    it('is refused with a withdrawn key as soon as a token of the next one had the record read', async () => {
      auth.clock.advance(1)
      await replaceKeys(workload, [nextJwk])
      assert.equal((await send(workload, await signNextToken())).status, 200)
      assertRefused(await send(workload, await signToken(workload)))
    })

    it('is refused without a kid once two keys have its algorithm, and not with a number for one', async () => {
      const unnamed = () => signToken(workload, {}, { kid: undefined })
      auth.clock.advance(1)
      await replaceKeys(workload, [newKeyPair('P-256').jwk, { ...next.jwk, alg: 'PS256' }, workload.jwk])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      assert.equal((await send(workload, await unnamed())).status, 200, 'others have another algorithm')
      auth.clock.advance(1)
      await replaceKeys(workload, [workload.jwk, { ...next.jwk, kid: '7' }])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      assertRefused(await send(workload, await unnamed()))
      const numbered = await signToken({ ...workload, keys: next }, {}, { kid: 7 })
      assert.equal((await send(workload, numbered)).status, 200)
    })

    it('is refused once its keys are 24 hours old, unless a person pasted them', async () => {
      auth.clock.advance(24 * HOUR_MS)
      assert.equal((await send(workload, await signToken(workload))).status, 200)
      auth.clock.advance(1_000)
      assertRefused(await send(workload, await signToken(workload)))
      await replaceKeys(workload, [workload.jwk], 'pasted')
      auth.clock.advance(25 * HOUR_MS)
      assert.equal((await send(workload, await signToken(workload))).status, 200)
      await replaceKeys(workload, [workload.jwk])
      assert.equal((await send(workload, await signToken(workload))).status, 200)
    })
  })
})
