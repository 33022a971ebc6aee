import assert from 'node:assert/strict'
import { saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import { CLIENT_RECORD_LIFETIME_MS } from '../../apps/auth/client-records.ts'
import { newKeyPair } from '../support/assertions.ts'
import { fingerprint, sharedAuth, startAuth } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import {
  createWorkload,
  platformToken,
  TEST_PLATFORMS,
  type TestPlatform,
  type TestWorkload,
  workloadFields,
} from '../support/workload-tokens.ts'

const HOUR_MS = 3_600_000
const GITHUB_ACTIONS = TEST_PLATFORMS['GitHub Actions'] as TestPlatform
const KUBERNETES = TEST_PLATFORMS.Kubernetes as TestPlatform
const CONTROLS = { RATE_TOKEN_FAILURES_PER_ADDRESS: '100000/60' }

describe('a workload at POST /v1/oauth/token', () => {
  const auth = sharedAuth({ trusted: true, env: CONTROLS })
  let wrongSecret: ReturnType<typeof fingerprint>
  before(async () => {
    const client = await auth.createClient()
    wrongSecret = fingerprint(await auth.token(client, { client_secret: 'wrong' }))
  })

  const post = (workload: TestWorkload, token: string, fields: Record<string, string | undefined> = {}) =>
    auth.post('/v1/oauth/token', { ...workloadFields(workload, token), ...fields })
  const signToken = (workload: TestWorkload, claims = {}, header = {}) =>
    platformToken(workload, auth.clock.now(), claims, header)

  async function assertGranted(workload: TestWorkload, token = signToken(workload), fields = {}) {
    const { status, text } = await post(workload, await token, fields)
    assert.equal(status, 200, text)
  }
  const assertRefused = async (workload: TestWorkload, token = signToken(workload), fields = {}) =>
    assert.deepEqual(fingerprint(await post(workload, await token, fields)), wrongSecret)

  for (const [name, platform] of Object.entries(TEST_PLATFORMS))
    it(`gets and revokes a token by a platform’s token, ${platform.once ? 'once' : 'until that expires'}: ${name}`, async () => {
      const workload = await createWorkload(auth, platform)
      const token = await signToken(workload)
      const answer = await post(workload, token)
      assert.equal(answer.status, 200, answer.text)
      assert.equal((await post(workload, token)).status, platform.once ? 401 : 200)
      const fields = workloadFields(workload, await signToken(workload))
      const revoked = await auth.post('/v1/oauth/revoke', { ...fields, token: answer.json.access_token })
      assert.deepEqual([revoked.status, revoked.text], [200, ''])
    })

  describe('of GitHub Actions', () => {
    const workload = forBlock(() => createWorkload(auth, GITHUB_ACTIONS))
    const stranger = forBlock(() => createWorkload(auth, GITHUB_ACTIONS))

    it('gets a token for a platform’s token with the type of a JWT-SVID', () => {
      const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'
      return assertGranted(workload, undefined, { client_assertion_type })
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
      it(`gets a token for a platform’s token with ${what}`, () =>
        assertGranted(workload, signToken(workload, {}, header)))

    const rogue = newKeyPair('RSA')
    const byRogue = (header: Record<string, unknown>) => signToken({ ...workload, keys: rogue }, {}, header)
    const FORGED: Record<string, () => Promise<string>> = {
      'a signature of another key': () => byRogue({}),
      'a kid that is no text': () => signToken(workload, {}, { kid: { toString: 1 } }),
      'a key of its own in the header': () => byRogue({ jwk: rogue.jwk }),
      'a token of another company’s workload': () => signToken(stranger),
      'another algorithm': () => signToken({ ...workload, keys: newKeyPair('P-256') }, {}, { alg: 'ES256' }),
    }
    for (const [what, forge] of Object.entries(FORGED))
      it(`is refused with ${what}`, () => assertRefused(workload, forge()))
  })

  it('is another client in another company with the same issuer, each with its own keys', async () => {
    const [mine, theirs] = [await createWorkload(auth, KUBERNETES), await createWorkload(auth, KUBERNETES)]
    const cluster = { ...KUBERNETES, issuer: 'https://cluster-2.example' }
    const beside = await createWorkload(auth, cluster, { vendorId: mine.client.vendorId })
    await assertGranted(mine)
    await assertGranted(beside)
    await assertRefused(theirs, signToken(mine))
    await assertRefused(mine, signToken(theirs))
    await assertRefused(mine, signToken({ ...mine, keys: beside.keys }))
  })

  it('uses a token once over two processes', async () => {
    await using beside = await startAuth({ beside: auth, env: CONTROLS })
    const workload = await createWorkload(auth, GITHUB_ACTIONS)
    const fields = workloadFields(workload, await signToken(workload))
    const answers = await Promise.all([auth, beside].map((one) => one.post('/v1/oauth/token', fields)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401])
  })

  it('uses up no token of an issuer for other companies by what pasted keys have signed', async () => {
    const attacker = await createWorkload(auth, GITHUB_ACTIONS)
    const victim = await createWorkload(auth, GITHUB_ACTIONS)
    const { client, platform, jwk } = attacker
    const pasted = { keys: [jwk], keysFrom: 'pasted' as const, keysAsOf: new Date(auth.clock.now()) }
    await saveIssuerKeys(auth.db, { vendorId: client.vendorId, issuer: platform.issuer }, pasted)
    const same = { jti: crypto.randomUUID() }
    for (const workload of [attacker, victim]) await assertGranted(workload, signToken(workload, same))
    for (const workload of [attacker, victim]) await assertRefused(workload, signToken(workload, same))
  })

  describe('whose issuer has other keys', () => {
    const workload = forEachTest(() => createWorkload(auth, KUBERNETES))
    const next = newKeyPair('RSA')
    const nextJwk = { ...next.jwk, kid: 'k2' }
    beforeEach(() => assertGranted(workload))
    const signNext = (kid: unknown = 'k2') => signToken({ ...workload, keys: next }, {}, { kid })
    /** Keys that the issuer publishes, or a person pastes, a millisecond from now. */
    const replaceKeys = (keys: object[], keysFrom: 'issuer' | 'pasted' = 'issuer') => {
      auth.clock.advance(1)
      const { platform, client } = workload
      const issuer = { vendorId: client.vendorId, issuer: platform.issuer }
      return saveIssuerKeys(auth.db, issuer, { keys, keysFrom, keysAsOf: new Date(auth.clock.now()) })
    }

    it('gets a token with a key that was published after its record was read', async () => {
      await assertRefused(workload, signNext())
      await replaceKeys([workload.jwk, next.jwk])
      await assertRefused(workload, signNext())
      await replaceKeys([workload.jwk, nextJwk])
      await assertGranted(workload, signNext())
      await assertGranted(workload)
    })

    it('is refused with a key that was withdrawn, five minutes later at most', async () => {
      await replaceKeys([nextJwk])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      await assertRefused(workload)
    })

    it('is refused with a withdrawn key as soon as a token of the next one had the record read', async () => {
      await replaceKeys([nextJwk])
      await assertGranted(workload, signNext())
      await assertRefused(workload)
    })

    it('is refused without a kid once two keys have its algorithm, and not with a number for one', async () => {
      const unnamed = () => signToken(workload, {}, { kid: undefined })
      // The others have another algorithm.
      await replaceKeys([newKeyPair('P-256').jwk, { ...next.jwk, alg: 'PS256' }, workload.jwk])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      await assertGranted(workload, unnamed())
      await replaceKeys([workload.jwk, { ...next.jwk, kid: '7' }])
      auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
      await assertRefused(workload, unnamed())
      await assertGranted(workload, signNext(7))
    })

    it('is refused once its keys are 24 hours old, unless a person pasted them', async () => {
      auth.clock.advance(24 * HOUR_MS)
      await assertGranted(workload)
      auth.clock.advance(1_000)
      await assertRefused(workload)
      await replaceKeys([workload.jwk], 'pasted')
      auth.clock.advance(25 * HOUR_MS)
      await assertGranted(workload)
      await replaceKeys([workload.jwk])
      await assertGranted(workload)
    })
  })
})
