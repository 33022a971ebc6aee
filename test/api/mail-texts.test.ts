import assert from 'node:assert/strict'
import { simpleParser } from 'mailparser'
import { createTransport } from 'nodemailer'
import type { MailDetails, MailKind } from '../../apps/api/mail/kinds.ts'
import { type MailReader, renderMail } from '../../apps/api/mail/texts.ts'

const BASE_URL = 'https://integrations.example.com'
const ACME = { vendorId: 'ven_acme', name: 'Acme', timezone: 'Europe/Berlin', role: 'owner' } as const
const MANAGER: MailReader = { baseUrl: BASE_URL, company: ACME }
const ACCOUNT: MailReader = { baseUrl: BASE_URL }
const SYNC = { clientId: 'cli_1', name: 'Sync' }
const NEXT = { clientId: 'cli_2', name: 'Sync 2' }
const CLIENTS = `${BASE_URL}/ven_acme/integrations/oauth2-clients`
const link = { url: `${BASE_URL}/invitation#inv_x`, expiresAt: new Date('2026-12-02T13:05:00Z') }
const at = '2026-11-29T14:04:20Z'
const OWNS = 'You get this mail because you are the owner of “Acme”.'
const HAS_ADDRESS = 'You get this mail because your account has this address.'
const NOT_YOU = 'If it was not you, choose “Forgot your password?” on the sign-in page at once.'
const FROM_SIGN_IN = `Open the sign-in page:\n${BASE_URL}/`

/** The subject, then the paragraphs of the text part. */
type Row<Kind extends MailKind> = [
  title: string,
  kind: Kind,
  detail: MailDetails[Kind],
  reader: MailReader,
  lines: string[],
]
const row = <Kind extends MailKind>(...parts: Row<Kind>) => parts as unknown as Row<'clients_expire'>

const failing = { client: SYNC, since: '2026-11-28T22:40:00Z', cause: 'wrong_secret', lastTokenAt: at }
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
const OPEN_EXPIRING = [
  'The dates cannot be changed. If something still uses one of them, deploy a replacement before then.',
  `Open the clients:\n${CLIENTS}?sort=expires`,
]
const found = { client: SYNC, foundAt: at }
const ONE_EXPIRES = { clients: [{ ...SYNC, expiresAt: '2026-12-06T22:59:59Z' }] }
const unreachable = {
  issuer: 'https://idp.acme.example/a',
  since: '2026-11-29T01:50:00Z',
  clients: [SYNC, NEXT],
}
const ADMIN = { ...ACME, role: 'admin' } as const
const INVITED: MailReader = { ...MANAGER, company: ADMIN, invitedBy: 'Olga L.', link }
const ON_MARS: MailReader = { ...MANAGER, company: { ...ADMIN, timezone: 'Mars/Olympus' } }
const IN_INDIA: MailReader = { ...MANAGER, company: { ...ACME, timezone: 'Asia/Kolkata' } }
const IS_REFUSED = [
  '“Sync” is being refused',
  'Every request of “Sync” has been refused since Sat 28 Nov 2026 at 23:40 (Europe/Berlin). The latest reason: wrong secret.',
  'It last got a token on Sun 29 Nov 2026 at 15:04 (Europe/Berlin).',
]
const IS_QUIET = [
  '“Sync” has got no token for 7 days',
  '“Sync 2” replaces “Sync”. Both are Active, and the old client has got no token for at least 7 days.',
]
const COMPARE = [
  'Until it is revoked, the old client can get tokens. Whether anything still needs it is for you to judge: we see requests, not what you have deployed.',
  `Compare the two clients:\n${CLIENTS}/cli_1/rotate`,
  OWNS,
]
const FOUND =
  'On Sun 29 Nov 2026 at 15:04 (Europe/Berlin), someone reported that they had found the secret of “Sync”. It is the right secret: whoever has it can get tokens as this client until the client is revoked or expires.'

const ROWS = [
  row('an invitation', 'invitation', {}, INVITED, [
    'Invitation to “Acme”',
    '“Olga L.” invites you to join “Acme” as an admin.',
    'The link works once, until Wed 2 Dec 2026 at 14:05 (Europe/Berlin). Anyone who has it can accept, so do not forward this mail.',
    `Accept the invitation:\n${link.url}`,
    'You get this mail because “Olga L.” entered your address. If you did not expect it, ignore it.',
  ]),
  ...(
    [
      ['an account', { ...ACCOUNT, companies: ['Acme', 'Globex'], link }, ' at “Acme”, “Globex”'],
      ['an account without companies', { ...ACCOUNT, link }, ''],
    ] as const
  ).map(([whose, reader, where]) =>
    row(`a password reset of ${whose}`, 'password_reset', { requestedAt: at }, reader as MailReader, [
      'Choose a new password',
      `Someone asked for a new password for your account${where} on Sun 29 Nov 2026 at 14:04 (UTC).`,
      'If it was you, choose one now. The link works once, until Wed 2 Dec 2026 at 13:05 (UTC).',
      'If it was not you, ignore this mail. Your password stays as it is.',
      `Choose a new password:\n${link.url}`,
      HAS_ADDRESS,
    ]),
  ),
  row('an account of a provider', 'sign_in_with_provider', { requestedAt: at }, ACCOUNT, [
    'Your account has no password here',
    'Someone asked for a new password for your account on Sun 29 Nov 2026 at 14:04 (UTC).',
    'You sign in through your organization, so there is no password here to reset. The sign-in page leads you there.',
    'If it was not you, ignore this mail.',
    FROM_SIGN_IN,
    HAS_ADDRESS,
  ]),
  ...(
    [
      ['person', 'by someone who was signed in and knew the old one. All other', NOT_YOU],
      ['reset', 'with a link that was mailed to you. All', NOT_YOU],
      [
        'operator',
        'by the operator of this service. All',
        'If you did not ask for this, contact the operator.',
      ],
    ] as const
  ).map(([by, how, advice]) =>
    row(`a password changed by the ${by}`, 'password_changed', { at, by }, ACCOUNT, [
      'Your password was changed',
      `The password of your account was changed on Sun 29 Nov 2026 at 14:04 (UTC), ${how} sessions have ended.`,
      advice,
      FROM_SIGN_IN,
      HAS_ADDRESS,
    ]),
  ),
  row('a found secret', 'secret_found', { ...found, willBeRevoked: false }, MANAGER, [
    'The secret of “Sync” was found',
    FOUND,
    'If you revoke now, whatever uses the client fails until it has a replacement. If you replace it first, nothing fails, but the secret works until you revoke.',
    `Revoke or replace the client:\n${CLIENTS}/cli_1`,
    OWNS,
  ]),
  row('a found secret whose client is revoked', 'secret_found', { ...found, willBeRevoked: true }, MANAGER, [
    'The secret of “Sync” was found',
    FOUND,
    'This service revokes such a client on its own within seconds, and whatever uses it is refused from then on. Create a replacement and deploy it.',
    `Replace the client:\n${CLIENTS}/cli_1`,
    OWNS,
  ]),
  row('a failing client', 'client_failing', { ...failing, senderKnown: true }, MANAGER, [
    ...IS_REFUSED,
    `See what to change:\n${CLIENTS}/cli_1`,
    OWNS,
  ]),
  row('a client that may be failing', 'client_failing', { ...failing, senderKnown: false }, MANAGER, [
    ...IS_REFUSED,
    'It has never gone this long without one. Still, anyone who knows the client id can send such requests, so check whether they are yours.',
    `See what to change:\n${CLIENTS}/cli_1`,
    OWNS,
  ]),
  row('a client that expires', 'clients_expire', ONE_EXPIRES, MANAGER, [
    '“Sync” expires on Sun 6 Dec 2026',
    '“Sync” expires on Sun 6 Dec 2026 at 23:59 (Europe/Berlin). From then on, its token requests are refused.',
    'The date cannot be changed. If something still uses it, deploy a replacement before then.',
    `Replace the client:\n${CLIENTS}/cli_1/rotate`,
    OWNS,
  ]),
  row('clients that expire on several days', 'clients_expire', { clients: EXPIRING }, MANAGER, [
    '2 clients expire, the first on Mon 30 Nov 2026',
    'These clients expire. From then on, their token requests are refused.',
    '- “Sync” on Mon 30 Nov 2026 at 23:59 (Europe/Berlin)\n- “Sync 2” on Tue 1 Dec 2026 at 00:00 (Europe/Berlin)',
    ...OPEN_EXPIRING,
    OWNS,
  ]),
  row(
    'clients that expire on one day, in an unknown zone',
    'clients_expire',
    { clients: EXPIRING },
    ON_MARS,
    [
      '2 clients expire on Mon 30 Nov 2026',
      'These clients expire. From then on, their token requests are refused.',
      '- “Sync” on Mon 30 Nov 2026 at 22:59 (UTC)\n- “Sync 2” on Mon 30 Nov 2026 at 23:00 (UTC)',
      ...OPEN_EXPIRING,
      'You get this mail because you are an admin of “Acme”.',
    ],
  ),
  row('a quiet client', 'replaced_client_quiet', { ...quiet, longestQuietHours: 73.4 }, MANAGER, [
    ...IS_QUIET,
    '- “Sync” last got one on Sun 22 Nov 2026 at 02:00 (Europe/Berlin).\n- “Sync 2” last got one on Sun 29 Nov 2026 at 02:00 (Europe/Berlin).\n- The longest time between two tokens of the old client since Mon 2 Mar 2026 at 10:12 (Europe/Berlin) was 3 days 1 hour.',
    ...COMPARE,
  ]),
  row('a quiet client with one token, in India', 'replaced_client_quiet', quiet, IN_INDIA, [
    ...IS_QUIET,
    '- “Sync” last got one on Sun 22 Nov 2026 at 06:30 (Asia/Kolkata).\n- “Sync 2” last got one on Sun 29 Nov 2026 at 06:30 (Asia/Kolkata).\n- Only one token of the old client has been seen since Mon 2 Mar 2026 at 14:42 (Asia/Kolkata).',
    ...COMPARE,
  ]),
  row('keys that cannot be fetched', 'issuer_keys_unreachable', unreachable, MANAGER, [
    'The keys of “idp.acme.example/a” cannot be fetched',
    'We last fetched the signing keys of “idp. acme. example/a” on Sun 29 Nov 2026 at 02:50 (Europe/Berlin). The latest attempt failed.',
    'A day after the last fetch, its tokens are refused, and these clients get no access:',
    '- “Sync”\n- “Sync 2”',
    `See why it fails:\n${CLIENTS}/cli_1`,
    OWNS,
  ]),
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
  for (const [title, kind, detail, reader, expected] of ROWS) {
    it(`says what was seen of ${title}`, () => {
      const { subject, text } = renderMail(kind, detail, reader)
      assert.deepEqual([subject, ...text.trimEnd().split('\n\n')], expected)
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
        assert.deepEqual(
          [parsed.to].flat().map((to) => to?.text),
          ['owner@acme.example'],
        )
        assert.ok(mail.text.includes(`“${read}”`), mail.text)
        assert.equal(parsed.text?.trimEnd(), mail.text.trimEnd())
        assert.doesNotMatch(mail.text.replace(/^https:.*$/m, ''), LOOKS_LIKE_A_LINK)
        const plain = readHtml(render('Sync').html)
        const { lines, tags } = readHtml(mail.html)
        assert.deepEqual(tags, plain.tags)
        assert.ok(lines.join('\n').includes(`“${read}”`), lines.join('\n'))
      })
})
