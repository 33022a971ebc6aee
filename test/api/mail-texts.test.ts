import assert from 'node:assert/strict'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import type { MailDetails, MailKind } from '../../apps/api/mail/kinds.ts'
import { type MailReader, renderMail } from '../../apps/api/mail/texts.ts'
import { recordedTexts } from '../support/recorded.ts'

const BASE_URL = 'https://integrations.example.com'
const ACME = { vendorId: 'ven_acme', name: 'Acme', timezone: 'Europe/Berlin', role: 'owner' } as const
const MANAGER: MailReader = { baseUrl: BASE_URL, company: ACME }
const ACCOUNT: MailReader = { baseUrl: BASE_URL }
const SYNC = { clientId: 'cli_1', name: 'Sync' }
const NEXT = { clientId: 'cli_2', name: 'Sync 2' }
const link = { url: `${BASE_URL}/invitation#inv_x`, expiresAt: new Date('2026-12-02T13:05:00Z') }
const reset = { url: `${BASE_URL}/password-reset#pwr_x`, expiresAt: new Date('2026-11-29T15:04:20Z') }
const at = '2026-11-29T14:04:20Z'
type Row<Kind extends MailKind> = [title: string, kind: Kind, detail: MailDetails[Kind], reader: MailReader]
const row = <Kind extends MailKind>(...parts: Row<Kind>) => parts as unknown as Row<'clients_expire'>

const failing = { client: SYNC, since: at, cause: 'wrong_secret', lastTokenAt: '2026-11-28T22:40:00Z' }
const quiet = {
  client: { ...SYNC, lastTokenAt: '2026-11-22T01:00:10Z' },
  replacement: { ...NEXT, lastTokenAt: '2026-11-29T01:00:09Z' },
  seenSince: '2026-03-02T09:12:00Z',
  longestQuietHours: null,
}
const EXPIRING = [
  { ...SYNC, expiresAt: '2026-11-30T22:59:59Z' },
  { ...NEXT, expiresAt: '2026-11-30T23:00:00Z' },
]
const found = { client: SYNC, foundAt: at }
const ONE_EXPIRES = { clients: [{ ...SYNC, expiresAt: '2026-12-06T22:59:59Z' }] }
const unreachable = {
  issuer: 'https://idp.acme.example/a',
  since: '2026-11-29T01:50:00Z',
  clients: [SYNC, NEXT],
}
const ADMIN = { ...ACME, role: 'admin' } as const
const RESET: MailReader = { ...ACCOUNT, companies: ['Acme', 'Globex'], link: reset }
const RESET_ALONE: MailReader = { ...ACCOUNT, link: reset }
const INVITED: MailReader = { ...MANAGER, company: ADMIN, invitedBy: 'Olga L.', link }
const ON_MARS: MailReader = { ...MANAGER, company: { ...ADMIN, timezone: 'Mars/Olympus' } }
const IN_INDIA: MailReader = { ...MANAGER, company: { ...ACME, timezone: 'Asia/Kolkata' } }
const ROWS = [
  row('an invitation', 'invitation', {}, INVITED),
  row('a password reset of an account', 'password_reset', { requestedAt: at }, RESET),
  row('a password reset of an account without companies', 'password_reset', { requestedAt: at }, RESET_ALONE),
  row('an account of a provider', 'sign_in_with_provider', { requestedAt: at }, ACCOUNT),
  ...(['person', 'reset', 'operator'] as const).map((by) =>
    row(`a password changed by the ${by}`, 'password_changed', { at, by }, ACCOUNT),
  ),
  row('a found secret', 'secret_found', { ...found, willBeRevoked: false }, MANAGER),
  row('a found secret whose client is revoked', 'secret_found', { ...found, willBeRevoked: true }, MANAGER),
  row('a failing client', 'client_failing', { ...failing, senderKnown: true }, MANAGER),
  row('a client that may be failing', 'client_failing', { ...failing, senderKnown: false }, MANAGER),
  row('a client that expires', 'clients_expire', ONE_EXPIRES, MANAGER),
  row('clients that expire on several days', 'clients_expire', { clients: EXPIRING }, MANAGER),
  row('clients that expire on one day, in an unknown zone', 'clients_expire', { clients: EXPIRING }, ON_MARS),
  row('a quiet client', 'replaced_client_quiet', { ...quiet, longestQuietHours: 73.4 }, MANAGER),
  row('a quiet client with one token, in India', 'replaced_client_quiet', quiet, IN_INDIA),
  row('keys that cannot be fetched', 'issuer_keys_unreachable', unreachable, MANAGER),
]

/** Returns what a reader of the HTML part sees, a line for each element, and its links. */
function readHtml(html: string) {
  const body = html.slice(html.indexOf('<body'))
  const text = body
    .replace(/<\/?bdi>/g, '')
    .replace(/<[^>]*>/g, '\n')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code))
  return {
    lines: text.split('\n').filter((line) => line !== ''),
    links: [...html.matchAll(/ href="([^"]*)"/g)].map(([, url]) => url),
    tags: [...html.matchAll(/<(\/?[a-z!][^\s>]*)/g)].map(([, tag]) => tag),
  }
}

describe('the text of a mail', () => {
  const { assertRecorded } = recordedTexts(new URL('mail-texts.txt', import.meta.url), [])
  for (const [title, kind, detail, reader] of ROWS) {
    it(`says what was seen of ${title}`, () => {
      const { subject, text } = renderMail(kind, detail, reader)
      assertRecorded(title, `Subject: ${subject}\n\n${text}`)
    })

    it(`has the same sentences in HTML, and one link, about ${title}`, () => {
      const { text, html } = renderMail(kind, detail, reader)
      const { lines, links } = readHtml(html)
      const url = /^https:.*$/m.exec(text)?.[0]
      const sentences = text.split('\n').flatMap((line) => (line === '' || line === url ? [] : [line]))
      assert.deepEqual(links, [url])
      assert.deepEqual(lines, [
        'Integration Access',
        ...sentences.map((line) =>
          line
            .replace(/^- /, '')
            .replace(/^([^.]*):$/, (whole, label) => (text.includes(`${label}:\nhttps`) ? label : whole)),
        ),
      ])
      // Nothing is fetched, and nothing runs.
      assert.doesNotMatch(html, /\bsrc=|url\(|@import|<(?:img|script|link|iframe|form)|\son\w+=/i)
    })
  }

  it('has every kind', () => assert.equal(new Set(ROWS.map(([, kind]) => kind)).size, 9))

  it('is not made without what only its sending knows', () => {
    assert.throws(() => renderMail('invitation', {}, MANAGER), TypeError)
    assert.throws(() => renderMail('secret_found', { ...found, willBeRevoked: false }, ACCOUNT), TypeError)
  })
})

/** What a name must not do, and how it is read. */
const HOSTILE: [name: string, read: string][] = [
  ['a\r\nBcc: all@evil.example', 'a Bcc: all@ evil. example'],
  ['a\u2028b\u2029c\u0085d\v\fe\0f', 'a b c d e f'],
  ['\u202Emoc.live\u202C', 'moc. live'],
  ['\u2066a\u2069\u200F\u061Cb', 'ab'],
  ['a\u200Bb\u2060c\uFEFFd\u00ADe', 'abcde'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['</p></div></body><a href="https://evil.example">', "</p></div></body><a href='https: //evil. example'>"],
  ['&lt;b&gt; &amp;', '&lt;b&gt; &amp;'],
  [`"quoted" 'single' \`tick\``, `'quoted' 'single' \`tick\``],
  ['” you are the owner of “', "' you are the owner of '"],
  ['=?utf-8?B?WW91ciBiYW5r?= =?utf-8?B?WA==?=', '= ?utf-8?B?WW91ciBiYW5r?= = ?utf-8?B?WA== ?='],
  ['https://evil.example/a?b=c', 'https: //evil. example/a?b=c'],
  ['evil.example', 'evil. example'],
  ['evil。example．com｡de', 'evil。 example． com｡ de'],
  ['mailto:kim@evil.example', 'mailto: kim@ evil. example'],
  ['v2.1 at 10:30', 'v2.1 at 10:30'],
  ['пример.рф', 'пример. рф'],
  ['Łódź 東京 👩‍👩‍👧 ❤️', 'Łódź 東京 👩‍👩‍👧 ❤️'],
  ['👍'.repeat(200), `${'👍'.repeat(99)}…`],
  [' \t a  \u00A0 b ', 'a b'],
  ['\uD800a\uDFFF', 'a'],
  ['.\r\n.\r\nQUIT', '. . QUIT'],
]

const LOOKS_LIKE_A_LINK = /[a-z][a-z0-9+.-]*:\/\/\S|\bwww\.\S|[^\s@]@[^\s@]+|[\p{L}\d-][.。．｡]\p{L}{2,}/iu

describe('a name in a mail', () => {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  const send = async (mail: ReturnType<typeof renderMail>) => {
    const { message } = await transport.sendMail({
      from: 'integrations@example.com',
      to: 'owner@acme.example',
      messageId: '<id@example.com>',
      date: new Date(at),
      ...mail,
    })
    return { raw: String(message), parsed: await simpleParser(message as Buffer) }
  }
  /** Each place of a name: of a client, a company and a person, clients in a list. */
  const PLACES: Record<string, (name: string) => ReturnType<typeof renderMail>> = {
    'a client': (name) =>
      renderMail('secret_found', { ...found, client: { ...SYNC, name }, willBeRevoked: false }, MANAGER),
    'a company and a person': (name) =>
      renderMail('invitation', {}, { ...INVITED, company: { ...ACME, name }, invitedBy: name }),
    'clients in a list': (name) =>
      renderMail('clients_expire', { clients: EXPIRING.map((client) => ({ ...client, name })) }, MANAGER),
  }
  const HEADERS = 'content-type date from message-id mime-version subject to'.split(' ')

  for (const [place, render] of Object.entries(PLACES))
    for (const [name, read] of HOSTILE)
      it(`stays text as that of ${place}: ${JSON.stringify(name.slice(0, 40))}`, async () => {
        const mail = render(name)
        const { raw, parsed } = await send(mail)
        assert.deepEqual([...parsed.headers.keys()].sort(), HEADERS)
        assert.equal(raw.slice(0, raw.indexOf('\r\n\r\n')).match(/^subject:/gim)?.length, 1)
        assert.equal(parsed.headers.get('subject'), mail.subject)
        assert.ok(mail.subject.length < 160, `${mail.subject.length}`)
        assert.doesNotMatch(mail.subject, /[\r\n\u202A-\u202E\u2066-\u2069]|=\?/)
        const readers = [parsed.to].flat().map((to) => to?.text)
        assert.deepEqual(readers, ['owner@acme.example'])
        assert.ok(mail.text.includes(`“${read}”`), mail.text)
        assert.equal(parsed.text?.trimEnd(), mail.text.trimEnd())
        assert.doesNotMatch(mail.text.replace(/^https:.*$/m, ''), LOOKS_LIKE_A_LINK)
        const plain = readHtml(render('Sync').html)
        const { lines, tags } = readHtml(mail.html)
        assert.deepEqual(tags, plain.tags)
        assert.ok(lines.join('\n').includes(`“${read}”`), lines.join('\n'))
      })
})
