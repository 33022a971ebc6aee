import { strict as assert } from 'node:assert'
import fc from 'fast-check'
import { parseForm } from '../../apps/auth/form.ts'
import { OAuthRefusal } from '../../apps/auth/http.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'
import { basic, sharedAuth, tokenFields } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { loggedEvents } from '../support/log.ts'

/** Each run of the tests tries others; `FC_RUNS=1000 npx mocha test/auth/fuzz.test.ts` tries more at once. */
const RUNS = Number(process.env.FC_RUNS ?? 100)
const ERRORS: Record<number, string[]> = {
  400: ['invalid_request', 'unsupported_grant_type', 'invalid_scope', 'invalid_target'],
  401: ['invalid_client'],
}

describe('any input', () => {
  const generous = { RATE_TOKEN_PER_CLIENT: '999999/60', RATE_TOKEN_FAILURES_PER_ADDRESS: '999999/60' }
  const auth = sharedAuth({ env: generous })
  const client = forBlock(() => auth.createClient({ scopes: ['analytics:read', 'catalog:write'] }))

  const text = fc.oneof(
    fc.string({ unit: ANY_CHARACTER, maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...'%+&= \0', '0', 'f', ':', 'é', '%00', '%f0'), maxLength: 12 }),
    fc.constantFrom('', '__proto__', 'constructor', 'toString', 'null', 'undefined', '[object Object]'),
  )
  const near = (...values: string[]) => fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...values) }, text)

  it('gives any token request one of its answers, and a token only for assigned scopes', async () => {
    const { clientId, clientSecret } = client
    const pair = fc.record(
      {
        grant_type: near('client_credentials', 'authorization_code', 'refresh_token', 'implicit'),
        client_id: near(clientId, clientId.slice(0, -1)),
        client_secret: near(clientSecret, `${clientSecret} `),
        scope: near(
          ...['analytics:read', 'catalog:write analytics:read', 'analytics:read '],
          ...['openid', 'boost:read'],
        ),
        resource: near('https://api.test', 'https://api.test/', 'urn:x'),
      },
      { requiredKeys: [] },
    )
    const name = near('grant_type', 'scope', 'resource', 'client_secret', 'x')
    const extra = fc.array(fc.tuple(name, text), { maxLength: 2 })
    const header = fc.option(near(basic(clientId, clientSecret), basic(clientId, 'x'), 'Basic ', 'Bearer x'))
    await fc.assert(
      fc.asyncProperty(pair, extra, header, async (fields, more, authorization) => {
        const body = [...Object.entries(fields), ...more]
          .map(([k, v]) => `${encoded(k)}=${encoded(v)}`)
          .join('&')
        const headers: Record<string, string> = {}
        if (authorization !== null && isHeaderValue(authorization)) headers.authorization = authorization
        const { status, json } = await auth.post('/v1/oauth/token', body, headers)
        if (status === 200) {
          const scopes: string[] = json.scope.split(' ')
          assert.ok(scopes.length > 0 && scopes.every((scope) => client.scopes.includes(scope as never)))
        } else {
          assert.ok(ERRORS[status]?.includes(json.error), `${status} ${JSON.stringify(json)}`)
        }
      }),
      { numRuns: RUNS },
    )
    assertNothingFailed()
  })

  it('answers 400 or 401 to a body of any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, ofRevoke) => {
        const response = await auth.request('POST', ofRevoke ? '/v1/oauth/revoke' : '/v1/oauth/token', {
          body: bytes as Uint8Array<ArrayBuffer>,
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
        assert.ok(response.status === 400 || response.status === 401, response.text)
      }),
      { numRuns: RUNS },
    )
    assertNothingFailed()
  })

  it('revokes nothing and calls nothing active for any token, and answers 400 to an empty one', async () => {
    const asClient = new URLSearchParams(tokenFields(client))
    const asService = new URLSearchParams(await auth.createService())
    const { access_token } = (await auth.token(client)).json
    const [header = '', payload = '', signature = ''] = access_token.split('.')
    const token = fc.oneof(
      text,
      fc
        .tuple(near(header, 'e30'), near(payload, 'e30', 'bnVsbA', 'W10'), near(signature.slice(1), ''))
        .map((three) => three.join('.')),
    )
    await fc.assert(
      fc.asyncProperty(token, async (value) => {
        const revoked = await auth.post('/v1/oauth/revoke', `${asClient}&token=${encoded(value)}`)
        const asked = await auth.post('/v1/oauth/introspect', `${asService}&token=${encoded(value)}`)
        if (value === '') assert.deepEqual([revoked.status, asked.status], [400, 400])
        else assert.deepEqual([revoked.status, revoked.text, asked.text], [200, '', '{"active":false}'])
      }),
      { numRuns: RUNS },
    )
    const { json } = await auth.post('/v1/oauth/introspect', `${asService}&token=${access_token}`)
    assert.equal(json.active, true)
    assertNothingFailed()
  })

  it('parses any form as URLSearchParams does', () => {
    const names = new Set(['a', 'b c', 'é', '__proto__'])
    const form = fc.dictionary(fc.constantFrom(...names), fc.string({ unit: 'grapheme', minLength: 1 }))
    fc.assert(
      fc.property(form, (fields) => {
        const parsed = parseForm(new URLSearchParams(Object.entries(fields)).toString(), names)
        assert.ok(!(parsed instanceof OAuthRefusal))
        assert.deepEqual(Object.fromEntries(parsed), Object.fromEntries(Object.entries(fields)))
      }),
    )
  })

  function assertNothingFailed(): void {
    assert.deepEqual(loggedEvents(auth, 'request.failed'), [])
  }
})

/** Percent-encodes every byte that would end the value, and leaves lone surrogates as U+FFFD. */
const encoded = (value: string): string => encodeURIComponent(value.toWellFormed())

const isHeaderValue = (value: string): boolean => /^[\x20-\x7e]*$/.test(value)
