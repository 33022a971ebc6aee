import assert from 'node:assert/strict'
import { saveIssuerKeys } from '../../apps/api/workload/issuers.ts'
import { CLIENT_RECORD_LIFETIME_MS } from '../../apps/auth/client-records.ts'
import { sharedApi } from '../support/api.ts'
import { newKeyPair } from '../support/assertions.ts'
import { sharedAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import {
  createWorkload,
  platformToken,
  TEST_PLATFORMS,
  type TestPlatform,
  type TestWorkload,
  workloadFields,
} from '../support/workload-tokens.ts'

describe('why a workload was refused, for its company', () => {
  const api = sharedApi()
  const auth = sharedAuth({ beside: api })
  const owner = forBlock(() => api.createOwner())
  const workload = forBlock(() =>
    createWorkload(auth, TEST_PLATFORMS['GitHub Actions'] as TestPlatform, { vendorId: owner.vendorId }),
  )

  /** Returns the refusal of a token that differs from a valid one in this. */
  async function refusal(claims: object, header: object = {}, signer: TestWorkload = workload) {
    const token = await platformToken(signer, auth.clock.now(), { ...claims }, { ...header })
    const answer = await auth.post('/v1/oauth/token', workloadFields(workload, token))
    assert.equal(answer.status, 401)
    return eventually(async () => {
      const { refusals } = (await owner.request('GET', 'refusals')).json
      const requestId = answer.headers.get('x-request-id')
      return refusals.find((refusal: { requestId: string }) => refusal.requestId === requestId)
    })
  }

  it('names the claim that differs, what came and what the client has', async () => {
    for (const [claims, came, has] of [
      [{ environment: 'staging' }, ': it was staging', 'production'],
      [{ environment: undefined }, '', 'production'],
      [{ iss: 'https://other.example' }, ': it was https://other.example', workload.platform.issuer],
      [{ repository_id: 1_296_269 }, ': it was not text: 1296269', '1296269'],
    ] as const) {
      const { cause, reason } = await refusal(claims)
      const [claim] = Object.keys(claims)
      const expected = `The claim ${claim} of the token differs${came}. The client has ${has}.`
      assert.deepEqual([cause, reason], ['workload_wrong_claim', expected])
    }
  })

  it('shows what came in at most 100 printable characters', async () => {
    const { reason } = await refusal({ environment: `\u202E\n${'x'.repeat(200)}` })
    assert.ok(reason.includes(`it was ??${'x'.repeat(98)}. The client`), reason)
  })

  it('shows nothing of a token whose signature did not hold', async () => {
    const forged = { ...workload, keys: newKeyPair('RSA') }
    const { cause, reason, advice } = await refusal({ environment: 'hunter2' }, {}, forged)
    assert.equal(cause, 'assertion_wrong_key')
    assert.doesNotMatch(reason + advice, /hunter2|staging/)
    const unknown = await refusal({ environment: 'hunter2' }, { kid: 'hunter3' })
    assert.equal(unknown.cause, 'workload_unknown_key')
    assert.doesNotMatch(unknown.reason + unknown.advice, /hunter/)
  })

  it('says that a token names no key, and what its type and life should be', async () => {
    const { client, platform, jwk } = workload
    const next = newKeyPair('RSA')
    const keys = [jwk, { ...next.jwk, kid: 'k2' }]
    const issuer = { vendorId: client.vendorId, issuer: platform.issuer }
    auth.clock.advance(1)
    await saveIssuerKeys(auth.db, issuer, { keys, keysFrom: 'issuer', keysAsOf: new Date(auth.clock.now()) })
    // With a key that its cached record lacks.
    const token = await platformToken({ ...workload, keys: next }, auth.clock.now(), {}, { kid: 'k2' })
    assert.equal((await auth.post('/v1/oauth/token', workloadFields(workload, token))).status, 200)
    const path = `oauth-clients/${client.clientId}/requests`
    const isGranted = ({ status }: { status: number }) => status === 200
    await eventually(async () => (await owner.request('GET', path)).json.requests.some(isGranted))
    auth.clock.advance(CLIENT_RECORD_LIFETIME_MS)
    assert.equal((await refusal({}, { kid: undefined })).cause, 'workload_no_kid')
    assert.doesNotMatch((await refusal({}, { typ: 'at+jwt' })).advice, /private key/)
    const iat = Math.floor(auth.clock.now() / 1_000)
    const { advice } = await refusal({ iat, exp: iat + 7_200 })
    assert.match(advice, /^Your platform sets exp\./)
    assert.match((await refusal({ iat: undefined })).advice, /its exp and iat are numbers\.$/)
  })

  it('says for whom the token was', async () => {
    const { cause, reason } = await refusal({ aud: 'https://other.example' })
    assert.equal(cause, 'assertion_wrong_audience')
    assert.match(reason, /: it was https:\/\/other\.example\.$/)
  })
})
