import assert from 'node:assert/strict'
import fc from 'fast-check'
import { newClientSecret, newSessionToken } from '../../../apps/api/accounts/new-ids.ts'
import { redact } from '../../../apps/api/callbacks/redaction.ts'
import { read } from '../../support/project.ts'

const TEXTS = JSON.parse(read('test/api/callbacks/receiver-texts.json'))
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
const KEY = 'Zm8xQpL9vRt2WsY7'
const LONG_KEY = 'Zm8xQpL9vRt2WsY7KdN4HjB6CgF3TbXe0A'

describe('redaction hides', () => {
  const plain: [what: string, secret: string, sent: string][] = TEXTS.hidden
  for (const [what, secret, sent] of [
    ...plain,
    ['a session token', 'ses_', newSessionToken()],
    ['the first part of a session token', 'ses_', `x ${newSessionToken().slice(0, 20)}`],
    ['the first part of a link to set a password', 'pwr_', `x pwr_${KEY}`],
    ['the first part of an invitation', 'inv_', `x inv_${KEY}`],
    ['the first part of a client secret', 'ias_', `x ${newClientSecret().slice(0, 20)}`],
    ['a JWT after a word', JWT.slice(40), `sntrys_${JWT}`],
    ['a JWT after a line break in JSON', JWT.slice(40), JSON.stringify(`x\n${JWT}`)],
    ['a key in a URL', KEY, `see https://acme.com/?api_key=${KEY}&x=1`],
    ['a key in the path of a URL', LONG_KEY, `see https://hooks.acme.com/t/${LONG_KEY}?x=1`],
    ['a key in JSON', KEY, `{"user":"joe","password":"${KEY}"}`],
    ['a key in JSON in JSON', KEY, `{"body":"{\\"password\\":\\"${KEY}\\"}"}`],
    ['passwords by short names', KEY, `pswd: ${KEY}, user_pswd: ${KEY}, psw=${KEY}, passw=${KEY}, pw=${KEY}`],
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
  for (const said of TEXTS.kept) it(said.slice(0, 90), () => assert.equal(redact(said), said))
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
