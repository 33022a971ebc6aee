import assert from 'node:assert/strict'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { newClientSecret, newSessionToken } from '#shared/oauth/ids.ts'
import { bodyText, cutToLines, plainText } from '../../../apps/api/callbacks/receiver-text.ts'
import { redact, WITHHELD } from '../../../apps/api/callbacks/redaction.ts'

/** Nothing that acts: no control, escape, format or bidi character, no tag; new lines are the only exception. */
function assertHarmless(text: string): void {
  assert.doesNotMatch(text, /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]--[\n]]/v)
  assert.doesNotMatch(text, /[<>]/)
}

describe('what a receiver sent, as plain text', () => {
  for (const [what, sent, shown] of [
    ['colours', '\u001b[1;31mred\u001b[0m text', 'red text'],
    ['cursor movements', 'a\u001b[2J\u001b[H\u001b[10;10Hb', 'ab'],
    ['private CSI', 'a\u001b[?1049hb\u001b[>0cc', 'abc'],
    ['C1 CSI', 'a\u009b31mb', 'ab'],
    ['a window title', 'a\u001b]0;owned\u0007b', 'ab'],
    ['a window title ended by ST', 'a\u001b]2;owned\u001b\\b', 'ab'],
    ['a hyperlink', 'a\u001b]8;;https://evil.com\u001b\\link\u001b]8;;\u001b\\b', 'alinkb'],
    ['C1 OSC', 'a\u009d0;owned\u009cb', 'ab'],
    ['DCS, SOS, PM, APC', 'a\u001bPx\u001b\\b\u001bXx\u001b\\c\u001b^x\u001b\\d\u001b_x\u001b\\e', 'abcde'],
    ['an OSC without end', 'a\u001b]0;owned', 'a]0;owned'],
    ['charset switches', 'a\u001b(0b\u001b)Bc', 'abc'],
    ['a reset', 'a\u001bcb', 'ab'],
    ['bells, backspaces, NULs and DEL', 'a\u0007b\u0008c\u0000d\u007fe', 'abcde'],
    ['bidirectional overrides', 'a\u202eevil\u202cb\u2066c\u2069', 'aevilbc'],
    ['zero-width and soft hyphens', 'a\u200bb\u00adc\ufeffd\u2060e', 'abcde'],
    ['tag characters', 'a\u{e0041}\u{e0042}b\u{e007f}', 'ab'],
    ['line and paragraph separators', 'a\u2028b\u2029c\u0085d', 'a\nb\nc\nd'],
    ['carriage returns', 'real\rfake\r\nnext', 'real\nfake\nnext'],
    ['tags', '<b>bold</b> <a href="javascript:x">link</a>', 'bold link'],
    ['scripts with their content', 'a<script>alert(1)</script>b<style>x{}</style>c', 'abc'],
    ['comments', 'a<!-- hidden <b> -->b', 'ab'],
    ['tags in tags', 'a<scr<b>ipt>alert(1)</scr</b>ipt>c', 'aalert(1)c'],
    ['tags that escapes hide', 'a<\u001b[0mscript\u200b>b', 'ab'],
    ['tags without end', 'a<img src=x onerror=alert(1)', 'a‹img src=x onerror=alert(1)'],
    ['lone brackets', '1 < 2 > 0', '1 0'],
    ['block elements', '<h1>Not Found</h1><p>one<br>two</p>', 'Not Found\none\ntwo'],
    ['blank lines and spaces', ' a \n\n\n  b\t\tc  \n', 'a\nb c'],
    ['private-use characters', 'a\ue000b', 'ab'],
    ['ordinary text of any language', 'Grüße, 你好, שלום, 😀 “ok”', 'Grüße, 你好, שלום, 😀 “ok”'],
  ] as const) {
    it(`is without ${what}`, () => {
      assert.equal(plainText(sent), shown)
      assertHarmless(plainText(sent))
    })
  }

  it('is harmless whatever is sent', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '\u001b',
        '\u001b[',
        '\u001b]',
        '\u009b',
        '\u009d',
        '\u0007',
        '\u001b\\',
        '\u009c',
        'm',
        'J',
      ),
      fc.constantFrom(
        '<',
        '>',
        '<script>',
        '</script>',
        '<!--',
        '-->',
        '<b',
        '/>',
        '&lt;',
        '"',
        '\n',
        '\r',
        '\t',
      ),
      fc.constantFrom('\u202e', '\u2066', '\u200b', '\ufeff', '\u{e0041}', '\ud800', '\udc00'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = plainText(pieces.join(''))
        assertHarmless(text)
        for (const line of cutToLines(redact(text))) assertHarmless(line)
      }),
      { numRuns: 3_000 },
    )
  })

  it('is made quickly from the worst that fits', () => {
    for (const part of [
      '<',
      '<a',
      '<script>',
      '<!--',
      '\u001b]',
      '\u009d',
      '\u001b[',
      '< ',
      '\r',
      '\u200b',
      '<p',
    ]) {
      const before = process.threadCpuUsage()
      plainText(part.repeat(16_384 / part.length))
      assert.ok(process.threadCpuUsage(before).user < 500_000, part)
    }
  })
})

describe('a body', () => {
  const text = (bytes: Buffer | string, contentType?: string, contentEncoding?: string) =>
    bodyText({ bytes: Buffer.from(bytes as Buffer), contentType, contentEncoding })

  for (const [name, packed] of [
    ['gzip', gzipSync('hello')],
    ['zstd', zstdCompressSync('hello')],
  ] as const) {
    it(`that is ${name}, said or not, is only described`, () => {
      assert.match(JSON.stringify(text(packed, 'text/plain')), /a compressed body, \d+ bytes read/)
    })
  }
  it('that is said to be compressed is only described', () => {
    for (const packed of [deflateSync('hello'), brotliCompressSync('hello'), Buffer.from('plain')]) {
      for (const coding of ['deflate', 'br', 'GZIP', 'x', 'gzip, br']) {
        assert.match(JSON.stringify(text(packed, 'text/plain', coding)), /a compressed body/)
      }
    }
    assert.deepEqual(text('plain', undefined, 'identity'), { text: 'plain' })
  })
  it('that is binary is only described', () => {
    for (const bytes of [
      Buffer.from([0, 1, 2, 3]),
      Buffer.from('89504e470d0a1a0a0000000d', 'hex'),
      Buffer.alloc(100, 0xfe),
    ]) {
      assert.match(JSON.stringify(text(bytes)), /a binary body, \d+ bytes read/)
    }
  })
  it('is decoded by its charset', () => {
    assert.deepEqual(text(Buffer.from('Gr\xfc\xdfe', 'latin1'), 'text/plain; charset=iso-8859-1'), {
      text: 'Grüße',
    })
    assert.deepEqual(text(Buffer.from('Grüße', 'utf16le'), 'text/plain; charset="utf-16le"'), {
      text: 'Grüße',
    })
    assert.deepEqual(text(Buffer.from('\ufeffGrüße', 'utf16le')), { text: 'Grüße' })
    assert.deepEqual(text('Grüße', 'text/plain'), { text: 'Grüße' })
  })
  it('of an unknown charset is only described', () => {
    assert.match(JSON.stringify(text('+ADw-script+AD4-', 'text/html; charset=utf-7')), /a binary body/)
  })
  it('is cut to lines, and says so', () => {
    const lines = cutToLines(Array.from({ length: 50 }, (_, at) => `${at} ${'😀'.repeat(500)}`).join('\n'))
    assert.equal(lines.length, 41)
    assert.equal(lines[40], '… and 10 more lines')
    assert.equal([...(lines[0] ?? '')].length, 401)
    assert.ok(lines.every((line) => line.isWellFormed()))
  })
})

describe('secrets in what a receiver sent', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
  for (const [what, secret, sent] of [
    ['Authorization', 'abc.def', 'Authorization: Bearer abc.def'],
    ['Authorization in JSON', 'abc.def', '{"headers":{"authorization":"Bearer abc.def"}}'],
    ['Basic', 'dXNlcjpwYXNzd29yZDE=', 'got Basic dXNlcjpwYXNzd29yZDE= instead'],
    ['Cookie', 'sid=abc', 'cookie: sid=abc; theme=dark'],
    ['Set-Cookie', 'sid=abc', 'Set-Cookie: sid=abc; Path=/'],
    ['a cookie in JSON', 'sid=abc', '{"cookie":"sid=abc"}'],
    ['a JWT', jwt.slice(40), `token ${jwt} expired`],
    ['the beginning of a JWT', 'zI1NiJ9', 'cut eyJhbGciOiJIUzI1NiJ9'],
    ['an AWS key', 'AKIAIOSFODNN7EXAMPLE', 'key AKIAIOSFODNN7EXAMPLE'],
    ['a Stripe key', '4eC39HqLyjWDarjtT1zdp7dc', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'],
    ['a GitHub token', 'a1B2c3a1B2c3', `ghp_${'a1B2c3'.repeat(6)}`],
    ['a PEM key', 'MIIEvQIBADANBg', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----'],
    ['a password in JSON', 'hunter2', '{"user":"joe","password":"hunter2"}'],
    ['a password with a quote in it', 'hunter2', '{"password":"a\\"hunter2"}'],
    ['a password in JSON in JSON', 'hunter2', '{"body":"{\\"password\\":\\"hunter2\\"}"}'],
    ['a password in a form', 'hunter2', 'user=joe&password=hunter2&x=1'],
    ['a key in a URL', 'hunter2', 'see https://acme.com/?api_key=hunter2&x=1'],
    ['a key in YAML', 'hunter2', 'api_key: hunter2\nother: fine'],
    ['a password in a URL', 'hunter2', 'could not connect to postgres://app:hunter2@db/x'],
    ['a key of no known make', 'Zm8xQpL9', 'the key is Zm8xQpL9vRt2WsY7KdN4HjB6CgF3TbXe0A was refused'],
  ] as const) {
    it(`hide ${what}`, () => {
      const shown = redact(sent)
      assert.ok(!shown.includes(secret), shown)
      assert.match(shown, /\[redacted\]|withheld/)
    })
  }

  for (const harmless of [
    '{"error":"invalid_request","message":"Expected 3 fields, got 2","requestId":"3f2b8c1e-7d4a-4b5e-9f60-1a2b3c4d5e6f"}',
    'trace 4bf92f3577b34da6a3ce929d0e0e4736 at DefaultListableBeanFactory.java:1234',
    'The requested URL /x was not found on this server.',
    'addresses_validated courses_available_2024 expenses_report monkey: 1 keyword=shoes',
    'server: nginx/1.24.0\ndate: Sat, 21 Nov 2026 11:21:50 GMT\ncontent-type: text/html; charset=utf-8',
    '{"type":"test_event","vendorId":"ven_acme","sentAt":"2026-11-21T11:21:50.380Z"}',
  ]) {
    it(`leave alone ${harmless.slice(0, 60)}`, () => assert.equal(redact(harmless), harmless))
  }

  const every = (text: string, code: (unit: number) => string) =>
    [...text].map((unit) => code(unit.charCodeAt(0))).join('')
  const split = (text: string, by: string) => text.replace(/.{5}/g, `$&${by}`)
  const ENCODINGS: Record<string, (secret: string) => string> = {
    plain: (secret) => secret,
    base64: (secret) => Buffer.from(secret).toString('base64'),
    'base64 after one byte': (secret) => Buffer.from(`x${secret}`).toString('base64'),
    'base64 after two bytes': (secret) => Buffer.from(`xy${secret}z`).toString('base64'),
    base64url: (secret) => Buffer.from(secret).toString('base64url'),
    'base64 in lines': (secret) => Buffer.from(secret).toString('base64').replace(/.{16}/g, '$&\r\n'),
    'base64 of UTF-16': (secret) => Buffer.from(secret, 'utf16le').toString('base64'),
    'Basic credentials': (secret) => Buffer.from(`user:${secret}`).toString('base64'),
    hexadecimal: (secret) => Buffer.from(secret).toString('hex'),
    'HEXADECIMAL, spaced': (secret) =>
      Buffer.from(secret).toString('hex').toUpperCase().replace(/../g, '$& '),
    'C array': (secret) => every(secret, (unit) => `0x${unit.toString(16)}, `),
    'byte array': (secret) => `[${[...Buffer.from(secret)].join(',')}]`,
    'percent codes': (secret) => every(secret, (unit) => `%${unit.toString(16)}`),
    'JSON escapes': (secret) => every(secret, (unit) => `\\u${unit.toString(16).padStart(4, '0')}`),
    'hex escapes': (secret) => every(secret, (unit) => `\\x${unit.toString(16)}`),
    'octal escapes': (secret) => every(secret, (unit) => `\\${unit.toString(8).padStart(3, '0')}`),
    'decimal entities': (secret) => every(secret, (unit) => `&#${unit};`),
    'hex entities': (secret) => every(secret, (unit) => `&#x${unit.toString(16)};`),
    'quoted-printable': (secret) => every(secret, (unit) => `=${unit.toString(16).toUpperCase()}`),
    fullwidth: (secret) =>
      every(secret, (unit) => String.fromCodePoint(unit === 0x5f ? 0xff3f : unit + 0xfee0)),
    reversed: (secret) => [...secret].reverse().join(''),
    'split by colours': (secret) => split(secret, '\u001b[31m'),
    'split by a window title': (secret) => split(secret, '\u001b]0;x\u0007'),
    'split by zero-width spaces': (secret) => split(secret, '\u200b'),
    'split by NULs': (secret) => split(secret, '\0'),
    'split by tags': (secret) => split(secret, '<wbr>'),
    'split by comments': (secret) => split(secret, '<!-- x -->'),
    'split by new lines': (secret) => split(secret, '\n'),
    'split by spaces': (secret) => [...secret].join(' '),
    'split by concatenation': (secret) => split(secret, '" + "'),
    'split by dots': (secret) => split(secret, '.'),
    'in an OSC without end': (secret) => `\u001b]0;${secret}`,
    'in an attribute': (secret) => `<a title="${secret}">x</a>`,
    'in a link': (secret) => `https://acme.com/?x=${secret}#y`,
  }
  const SURROUNDINGS: ((text: string) => string)[] = [
    (text) => text,
    (text) => `you sent ${text} to us`,
    (text) => JSON.stringify({ error: 'no', echo: text, n: 1 }),
    (text) => `<html><body><p>${text}</p></body></html>`,
    (text) => `X-Echo: ${text}\nServer: nginx`,
    (text) => `${'padding '.repeat(500)}${text}`,
  ]
  const secret = fc.constantFrom(newSessionToken, newClientSecret).map((make) => make())
  const encoding = fc.constantFrom(...Object.keys(ENCODINGS))

  /** Everything that a person could copy the secret from. */
  const squeezed = (text: string) => text.replace(/[^A-Za-z0-9_]/g, '')
  function assertHidden(shown: string, planted: string, encoded: string): void {
    assert.ok(!squeezed(shown).includes(planted), shown)
    assert.ok(!shown.includes(encoded), shown)
    assert.ok(!shown.includes(planted.slice(8, 28)), shown)
  }

  for (const name of Object.keys(ENCODINGS)) {
    it(`hide a session token and a client secret: ${name}`, () => {
      for (const planted of [newSessionToken(), newClientSecret()]) {
        for (const surround of SURROUNDINGS) {
          const encoded = (ENCODINGS[name] as (text: string) => string)(planted)
          assertHidden(redact(plainText(surround(encoded))), planted, encoded)
        }
      }
    })
  }

  it('hide them in one encoding within another', () => {
    // Splitting comes last: what is split by invisible characters is whole again before anything is looked for.
    const inner = fc.constantFrom(
      'base64',
      'base64url',
      'hexadecimal',
      'percent codes',
      'JSON escapes',
      'decimal entities',
      'plain',
    )
    fc.assert(
      fc.property(
        secret,
        inner,
        encoding,
        fc.constantFrom(...SURROUNDINGS),
        (planted, first, second, surround) => {
          const encoded = ENCODINGS[second]?.(ENCODINGS[first]?.(planted) ?? '') ?? ''
          assertHidden(redact(plainText(surround(encoded))), planted, encoded)
        },
      ),
      { numRuns: 400 },
    )
  })

  it('hide the session token of this very call also without its prefix, and in part', () => {
    const token = newSessionToken()
    for (const part of [token.slice(4), token.slice(0, 25), token.slice(15, 40)]) {
      for (const [name, encode] of Object.entries(ENCODINGS)) {
        const shown = redact(plainText(`you are ${encode(part)}.`), { secrets: [token] })
        assert.ok(!squeezed(shown).includes(part), `${name}: ${shown}`)
      }
    }
  })

  it('withhold a text that is scattered beyond repair', () => {
    const token = newSessionToken()
    assert.equal(redact([...token].join(' ')), WITHHELD)
  })

  it('are looked for quickly in the worst that fits', () => {
    const parts = [
      'eyJ',
      'a="',
      '%25',
      '&amp;',
      '\\u0041',
      'ses_',
      'cookie',
      'bearer ',
      '{"a":',
      '-----BEGIN PRIVATE KEY-----',
      'aA1',
      'a:b@',
      '://',
      'key=',
      '0x41, ',
      '=41',
    ]
    for (const part of parts) {
      const before = process.threadCpuUsage()
      redact(part.repeat(16_384 / part.length), { secrets: [newSessionToken()] })
      const { user: took_us } = process.threadCpuUsage(before)
      assert.ok(took_us < 1_000_000, `${part}: ${took_us / 1_000} ms`)
    }
  })
})
