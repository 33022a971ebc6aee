import assert from 'node:assert/strict'
import fc from 'fast-check'
import { newClientSecret, newSessionToken } from '../../../apps/api/accounts/new-ids.ts'
import { redact } from '../../../apps/api/callbacks/redaction.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
const KEY = 'Zm8xQpL9vRt2WsY7'
const LONG_KEY = 'Zm8xQpL9vRt2WsY7KdN4HjB6CgF3TbXe0A'

describe('redaction hides', () => {
  for (const [what, secret, sent] of [
    ['Authorization', 'abc.def', 'Authorization: Bearer abc.def'],
    ['Proxy-Authorization', 'abc.def', 'proxy-authorization: abc.def'],
    ['Authorization in a list', 'abc.def', '{"Authorization":["Bearer abc.def"]}'],
    ['Authorization as Ruby and PHP print it', 'abc.def', '"HTTP_AUTHORIZATION"=›"Bearer abc.def"'],
    ['Cookie', 'sid=abc', 'cookie: theme="dark"; sid=abc'],
    ['Set-Cookie', 'sid=abc', 'Set-Cookie: sid=abc; Path=/'],
    ['a cookie in JSON in JSON', 'sid=abc', '{"body":"{\\"cookie\\":\\"sid=abc\\"}"}'],
    ['an object of cookies', 'hunter2', '{"cookies":{"sid":"hunter2"}}'],
    ['a session token', 'ses_', newSessionToken()],
    ['the first part of a session token', 'ses_', `x ${newSessionToken().slice(0, 20)}`],
    ['the first part of a client secret', 'ias_', `x ${newClientSecret().slice(0, 20)}`],
    ['the first part of a GitHub token', 'a1B2c3', 'x ghp_a1B2c3a1B2c3'],
    ['the first part of a Stripe key', '4eC39H', 'x sk_live_4eC39HqL'],
    ['a JWT after a word', JWT.slice(40), `sntrys_${JWT}`],
    ['a JWT after a line break in JSON', JWT.slice(40), JSON.stringify(`x\n${JWT}`)],
    ['the beginning of a JWT', 'zI1NiJ9', 'cut eyJhbGciOiJIUzI1NiJ9'],
    ['an AWS secret', 'bPxRfiCY', 'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzJ4m8Q2vLk'],
    ['a Stripe key', '4eC39HqLyjWDarjtT1zdp7dc', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    ['what may be a key, though it reads like words', 'bratislava', 'see /sk-bratislava-warehouse-events'],
    ['a PEM key', 'MIIEvQIBADANBg', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----'],
    ['a PEM key that was cut', 'MIIEvQIBADANBg', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg'],
    ['a password in a URL', 'hunter2', 'could not connect to postgres://app:hunter2@db/x'],
    ['a key in a URL', KEY, `see https://acme.com/?api_key=${KEY}&x=1`],
    ['a key in the path of a URL', LONG_KEY, `see https://hooks.acme.com/t/${LONG_KEY}?x=1`],
    ['a key in JSON', KEY, `{"user":"joe","password":"${KEY}"}`],
    ['a key in JSON in JSON', KEY, `{"body":"{\\"password\\":\\"${KEY}\\"}"}`],
    ['passwords by short names', KEY, `pswd: ${KEY}, user_pswd: ${KEY}, psw=${KEY}, passw=${KEY}, pw=${KEY}`],
    ['a signature in hexadecimal', '9f86d081884c7d65', 'X-Signature: 9f86d081884c7d659a2feaa0c55ad015'],
    ['Basic credentials in a sentence', 'dXNlcjpwYXNzd29yZDE', 'got Basic dXNlcjpwYXNzd29yZDE= instead'],
    ['a key of no known make', LONG_KEY, `the key is ${LONG_KEY} was refused`],
  ] as const)
    it(what, () => {
      const shown = redact(sent)
      assert.ok(!shown.includes(secret), shown)
      assert.match(shown, /\[redacted\]/)
    })

  it('hides the secret and nothing around it', () => {
    for (const [sent, shown] of [
      [`{"error":"no","token":"${KEY}","hint":"new"}`, '{"error":"no","token":"[redacted]","hint":"new"}'],
      ['{"cookies":["a=b","c"],"n":1}', '{"cookies":["[redacted]","[redacted]"],"n":1}'],
      ['{"cookies":{"sid":"abc"},"n":1}', '{"cookies":{"sid":"[redacted]"},"n":1}'],
      ['{"authorization":null,"n":1}', '{"authorization":null,"n":1}'],
      ['{"sent":"to Authorization: Bearer abc","n":1}', '{"sent":"to Authorization: [redacted]","n":1}'],
      ['{"message":"missing Authorization:","n":1}', '{"message":"missing Authorization:","n":1}'],
      [`https://acme.com/?api_key=${KEY}&x=1`, 'https://acme.com/?api_key=[redacted]&x=1'],
    ] as const)
      assert.equal(redact(sent), shown)
  })
})

describe('redaction leaves alone', () => {
  for (const said of [
    'Missing signature: header X-Signature is required',
    'password: must not be empty',
    'Bearer error="invalid_token", resource_metadata="https://acme.com/.well-known/oauth-protected-resource"',
    'www-authenticate: Basic realm="hooks-production-2024"',
    '{"error":"unauthorized","message":"Missing signature: header X-Signature is required","auth":"none"}',
    '{"token_endpoint":"https://auth.example.com/oauth2/v1/token","code":"Oauth2TokenExpiredException"}',
    '{"tokenExpiresAt":"2026-11-21T11:21:50.380Z","key":"api-gateway-v2-production"}',
    'x-amz-cf-id: 9Kc3xQpL9vRt2WsY7KdN4HjB6CgF3TbXe0AZm8xQpL9vRt2WsY7KdN4Hg==',
    '{"error":"invalid_request","message":"Expected 3 fields, got 2","requestId":"3f2b8c1e-7d4a-4b5e-9f60-1a2b3c4d5e6f"}',
    'trace 4bf92f3577b34da6a3ce929d0e0e4736 at DefaultListableBeanFactory.java:1234',
    'The requested URL /x was not found on this server.',
    'addresses_validated courses_available_2024 expenses_report monkey: 1 keyword=shoes',
    'server: nginx/1.24.0\ndate: Sat, 21 Nov 2026 11:21:50 GMT\ncontent-type: text/html; charset=utf-8',
  ])
    it(said.slice(0, 90), () => assert.equal(redact(said), said))
})

describe('redaction of JSON', () => {
  const secretish = fc.constantFrom(
    ...[...'"\\\n[]{},:=', '\\"', 'null', `\n${LONG_KEY}`, `\u0001${JWT}`, `Bearer ${KEY}`, 'x://b', 'a:b@c'],
    ...['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', 'Cookie:', "'cookie': 1", 'token'],
    ...['Authorization: x', 'authorization', 'cookies'],
  )
  const text = fc
    .array(fc.oneof({ weight: 5, arbitrary: secretish }, fc.string()), { maxLength: 4 })
    .map((p) => p.join(''))
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), finite),
      text.map((inner) => JSON.stringify({ cookie: inner, x: inner })),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }))

  it('hides nothing beyond the JSON string that holds a name', () => {
    const shown = JSON.parse(redact(JSON.stringify(['authorization\\"=\\"', "'cookie'='", 'why it failed'])))
    assert.deepEqual(shown, ['authorization\\"=[redacted]', "'cookie'=[redacted]", 'why it failed'])
  })

  it('keeps redacted JSON valid', () =>
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), (sent, indent) => {
        const json = JSON.stringify(sent, null, indent)
        const shown = redact(json)
        assert.doesNotThrow(() => JSON.parse(shown), `${json}\n${shown}`)
      }),
      { numRuns: 5_000 },
    ))
})
