import assert from 'node:assert/strict'
import fc from 'fast-check'
import { ANY_CHARACTER } from '../support/any-character.ts'
import { sharedApi, type TestApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { EVERYTHING } from '../support/tier.ts'

/** Each run of the tests tries others; `FC_RUNS=1000 npx mocha test/api/fuzz.test.ts` tries more at once. */
const RUNS = Number(process.env.FC_RUNS ?? (EVERYTHING ? 100 : 40))

const FIELDS = 'authorization if-none-match idempotency-key content-type x-forwarded-for accept'.split(' ')

/** No input makes the API fail: every answer is an expected one or a problem that names the fault. */
describe('any input', () => {
  const limits = ['API_PER_CLIENT', 'API_PER_SESSION', 'SIGN_IN_STRANGERS_PER_ACCOUNT', 'SIGN_IN_PER_ACCOUNT']
  const unlimited = [...limits, 'SIGN_IN_PER_ADDRESS'].map((name) => [`RATE_${name}`, '1000000/60'])
  const api = sharedApi({ env: Object.fromEntries(unlimited) })
  let vendorId: string
  const owner = forBlock(() => api.createOwner())
  let accessToken: string
  before(async () => {
    vendorId = owner.vendorId
    const { clientId } = await owner.createClient()
    accessToken = await api.issuer.token({ clientId, vendorId })
  })

  const anyText = fc.oneof(
    fc.string({ unit: ANY_CHARACTER, maxLength: 200 }),
    fc.string({ maxLength: 50 }),
    fc.constantFrom('', '\0', '%', '%00', '../..', "' or 1=1 --", '9'.repeat(400), '\u202e', 'ven_', 'cli_'),
  )
  const encoded = anyText.map((text) => encodeURIComponent(text.toWellFormed()))

  async function answersWell(method: string, path: string, request: Parameters<TestApi['request']>[2] = {}) {
    const { status, headers, json, text } = await api.request(method, path, request)
    // A key that is unknown while keys may not be fetched again: nobody can say whether the token is good.
    const isUndecided = status === 503 && json.detail.startsWith('We cannot fetch the key right now')
    assert.ok(status < 500 || isUndecided, `${method} ${path}: ${status} ${text}`)
    if (status >= 400) {
      assert.equal(headers.get('content-type'), 'application/problem+json')
      assert.equal(json.status, status)
    }
  }
  const check = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>) =>
    fc.assert(fc.asyncProperty(arbitrary, property), { numRuns: RUNS })

  it('answers any input in a path', () =>
    check(
      fc.tuple(encoded, encoded, fc.constantFrom('GET', 'POST', 'DELETE', 'PUT')),
      async ([one, two, method]) => {
        const { sessionToken: token } = owner
        await answersWell(method, `/v1/vendor/${one}/oauth-clients/${two}`, { token })
        await answersWell(method, `/v1/vendor/${vendorId}/oauth-clients/${two}`, { token })
        await answersWell('POST', `/v1/vendor/${vendorId}/oauth-clients/${two}/revoke`, { token })
        await answersWell('GET', `/v1/analytics/${one}/daily`, { token: accessToken })
        await answersWell(method, `/${one}/${two}`, { token })
      },
    ))

  it('answers any input in a query', () =>
    check(
      fc.array(
        fc.tuple(fc.oneof(fc.constantFrom('limit', 'cursor', 'status', 'from', 'to'), encoded), encoded),
        { maxLength: 4 },
      ),
      async (parameters) => {
        const search = parameters.map(([name, value]) => `${name}=${value}`).join('&')
        const { sessionToken: token } = owner
        await answersWell('GET', `/v1/analytics/${vendorId}/daily?${search}`, { token: accessToken })
        await answersWell('GET', `/v1/vendor/${vendorId}/oauth-clients?${search}`, { token })
        await answersWell('GET', `/v1/vendor/${vendorId}/activity?${search}`, { token })
      },
    ))

  it('answers any input in a body', () =>
    check(
      fc.oneof(
        fc.jsonValue(),
        fc.record(
          { name: fc.oneof(anyText, fc.jsonValue()), scopes: fc.oneof(fc.array(anyText), fc.jsonValue()) },
          { requiredKeys: [] },
        ),
      ),
      async (body) => {
        await answersWell('POST', `/v1/vendor/${vendorId}/oauth-clients`, { token: owner.sessionToken, body })
        await answersWell('POST', '/v1/session', { body })
      },
    ))

  it('answers any input in the fields of a sign-in', () =>
    fc.assert(
      fc.asyncProperty(anyText, anyText, async (email, password) => {
        await answersWell('POST', '/v1/session', { body: { email, password } })
        const { sessionToken: token } = owner
        const body = { currentPassword: email, newPassword: password }
        await answersWell('PUT', '/v1/session/password', { token, body })
        await answersWell('DELETE', `/v1/sessions/${encodeURIComponent(email.toWellFormed())}`, { token })
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    ))

  it('answers any input in a header field', () =>
    check(
      fc.tuple(
        fc.constantFrom(...FIELDS),
        fc.string({ maxLength: 300 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '')),
      ),
      async ([name, value]) => {
        const headers = { [name]: value }
        await answersWell('GET', `/v1/analytics/${vendorId}/daily`, { headers, token: accessToken })
        await answersWell('GET', `/v1/analytics/${vendorId}/daily`, { headers })
        const request = { token: owner.sessionToken, body: { name: 1 }, headers }
        await answersWell('POST', `/v1/vendor/${vendorId}/oauth-clients`, request)
      },
    ))
})
