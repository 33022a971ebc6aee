import assert from 'node:assert/strict'
import { readApiConfig } from '../../../apps/api/config.ts'
import type { SmtpServer } from '../../../apps/api/mail/settings.ts'
import { words } from '../guarded-fetch/spellings.ts'

const BASE = {
  DATABASE_URL: 'postgres://x/y',
  REDIS_URL: 'redis://x',
  ISSUER: 'https://api.test',
  API_RESOURCE: 'https://api.test',
}
const URL_GOOD = 'smtps://u:p@mail.example.com'
const FROM_GOOD = 'a@b.example'

const read = (env: Record<string, string>) => readApiConfig({ ...BASE, ...env }).mail

function readProblem(env: Record<string, string>): string {
  try {
    read(env)
    return 'none'
  } catch (error) {
    return (error as Error).message.split('\n  ').slice(1).join('\n')
  }
}

describe('SMTP_URL', () => {
  const login = { user: 'u', password: 'p' }
  const odd = { user: 'AKIA/x', password: 'a@b:c%d#é' }
  const ENCODED = { host: 'h.example', port: 65_535, tls: 'from-start', login: odd } as const
  const ACCEPTED: [url: string, server: SmtpServer][] = [
    ['smtps://u:p@mail.example.com', { host: 'mail.example.com', port: 465, tls: 'from-start', login }],
    ['smtp://u:p@mail.example.com', { host: 'mail.example.com', port: 587, tls: 'starttls', login }],
    ['SMTPS://u:p@Mail.A.com:2465/', { host: 'mail.a.com', port: 2465, tls: 'from-start', login }],
    ['smtp://relay:25', { host: 'relay', port: 25, tls: 'starttls' }],
    ['smtp://localhost:1025', { host: 'localhost', port: 1025, tls: 'none' }],
    ['smtp://127.0.0.1:1025', { host: '127.0.0.1', port: 1025, tls: 'none' }],
    ['smtp://u:p@[::1]:1025', { host: '::1', port: 1025, tls: 'none', login }],
    ['smtp://[2001:DB8::1]', { host: '2001:db8::1', port: 587, tls: 'starttls' }],
    ['smtp://localhost.example.com', { host: 'localhost.example.com', port: 587, tls: 'starttls' }],
    ['smtps://AKIA%2Fx:a%40b%3Ac%25d%23%C3%A9@h.example:65535', ENCODED],
  ]
  for (const [url, server] of ACCEPTED)
    it(`accepts ${url}`, () =>
      assert.deepEqual(read({ SMTP_URL: url, MAIL_FROM: FROM_GOOD })?.server, server))

  const FORM =
    'SMTP_URL: must be smtps://user:password@host:465 or smtp://user:password@host:587, with the user and the ' +
    'password percent-encoded (# is %23, % is %25, / is %2F, : is %3A, ? is %3F, @ is %40)'
  const MALFORMED = words(`
    mail.example.com smtps://u:p@mail.example.com/?tls.rejectUnauthorized=false smtps://u:p@mail.example.com#x
    smtps://user@mail.example.com smtps://u:a@b@mail.example.com smtps://u:a#b@mail.example.com
    smtps://u:100%@mail.example.com smtps://u:%ff@mail.example.com smtps://u:a%0d%0ab@mail.example.com
    smtps://u:p@mail.example.com:0 smtps://u:p@mail.example.com:65536 smtps://u:p@one.example,two.example
    smtps://u:p@mäil.example smtp://127.1:25 smtp://[::1 smtp://[fe80::1%25eth0]
  `)
  for (const url of [
    ...MALFORMED,
    ' smtps://u:p@mail.example.com',
    'smtps://u:p@mail_1.example\nsmtp.example',
  ])
    it(`refuses ${JSON.stringify(url)}`, () =>
      assert.equal(readProblem({ SMTP_URL: url, MAIL_FROM: FROM_GOOD }), FORM))

  it('and MAIL_FROM are required together', () => {
    assert.equal(read({}), undefined)
    assert.equal(readProblem({ SMTP_URL: URL_GOOD }), 'MAIL_FROM: is required, since SMTP_URL is set')
    assert.equal(readProblem({ MAIL_FROM: FROM_GOOD }), 'SMTP_URL: is required, since MAIL_FROM is set')
  })
})

describe('MAIL_FROM', () => {
  const ACCEPTED: [text: string, name: string, address: string, domain: string][] = [
    ['a@b.example', '', 'a@b.example', 'b.example'],
    ['Acme <a@b.example>', 'Acme', 'a@b.example', 'b.example'],
    ['Acme, Inc. (Co.) <a@b.example>', 'Acme, Inc. (Co.)', 'a@b.example', 'b.example'],
    ['Ünïted 株式会社 🙂 <a@b.example>', 'Ünïted 株式会社 🙂', 'a@b.example', 'b.example'],
    ['No-Reply+x@Mail.B.example', '', 'No-Reply+x@Mail.B.example', 'mail.b.example'],
    ['a@xn--bcher-kva.example', '', 'a@xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ]
  for (const [text, name, address, domain] of ACCEPTED)
    it(`accepts ${text}`, () =>
      assert.deepEqual(read({ SMTP_URL: URL_GOOD, MAIL_FROM: text })?.from, { name, address, domain }))

  for (const text of [
    ...['Acme', 'A <a@b.example>, C <c@d.example>', 'c@d.example <a@b.example>', 'Acme <a@b.example'],
    ...['"Acme" <a@b.example>', 'Acme <a@b..example>', 'a@[192.0.2.1]', 'a@bücher.example'],
    ...['a@b.example\nBcc: c@d.example', 'A\r\nBcc: c@d.example <a@b.example>', 'A\u2028 <a@b.example>'],
    ...['Ac\u200bme <a@b.example>', 'Ac\u3164me <a@b.example>', 'ceo＠bank.example <a@b.example>'],
    ...['Acme ＜x＞ <a@b.example>', `${'a'.repeat(65)}@b.example`, `a@${'b'.repeat(64)}.example`],
    ...[`a@${'b.'.repeat(130)}example`, `${'A'.repeat(101)} <a@b.example>`],
  ])
    it(`refuses ${JSON.stringify(text).slice(0, 60)}`, () => {
      const problem = 'MAIL_FROM: must be one address: mail@example.com or Name <mail@example.com>'
      assert.equal(readProblem({ SMTP_URL: URL_GOOD, MAIL_FROM: text }), problem)
    })
})
