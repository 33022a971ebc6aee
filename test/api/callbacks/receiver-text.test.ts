import assert from 'node:assert/strict'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { plainText } from '../../../apps/api/callbacks/plain-text.ts'
import { displayBody, displayLines } from '../../../apps/api/callbacks/receiver-text.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'

/** Plain text: no control, escape, format or bidi character, no tag. New lines are the only exception. */
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
    ['C1 OSC', 'a\u009d0;owned\u009cb', 'ab'],
    ['comments', 'a<!-- hidden <b> -->b', 'ab'],
    ['a window title', 'a\u001b]0;owned\u0007b', 'ab'],
    ['DCS, SOS, PM, APC', 'a\u001bPx\u001b\\b\u001bXx\u001b\\c\u001b^x\u001b\\d\u001b_x\u001b\\e', 'abcde'],
    ['an OSC without end', 'a\u001b]0;owned', 'a]0;owned'],
    ['charset switches', 'a\u001b(0b\u001b)Bc', 'abc'],
    ['a reset', 'a\u001bcb', 'ab'],
    ['bells, backspaces, NULs and DEL', 'a\u0007b\u0008c\u0000d\u007fe', 'abcde'],
    ['bidirectional overrides', 'a\u202eevil\u202cb\u2066c\u2069', 'aevilbc'],
    ['zero-width and soft hyphens', 'a\u200bb\u00adc\ufeffd\u2060e', 'abcde'],
    ['line and paragraph separators', 'a\u2028b\u2029c\u0085d', 'a\nb\nc\nd'],
    ['carriage returns', 'real\rfake\r\nnext', 'real\nfake\nnext'],
    ['tags', '<b>bold</b> <a href="javascript:x">link</a>', 'bold link'],
    ['scripts with their content', 'a<SCRIPT>x</Script >b<STYLE>x</STYLE >c<Svg>x</SVG >d', 'abcd'],
    ['templates with their content', 'a<Template>x</TEMPLATE >b<script>x</script>c', 'abc'],
    ['tags in tags', 'a<scr<b>ipt>alert(1)</scr</b>ipt>c', 'aalert(1)c'],
    ['tags without end', 'a > b<img src=x onerror=alert(1)', 'a › b‹img src=x onerror=alert(1)'],
    ['lone brackets', '1 < 2 > 0', '1 0'],
    ['block elements', '<H1>Not Found</H1><p>one<BR>two</p>', 'Not Found\none\ntwo'],
    ['blank lines and spaces', ' a \n\n\n  b\t\tc  \n', 'a\nb c'],
    ['ordinary text of any language', 'Grüße, 你好, שלום, 😀 “ok”', 'Grüße, 你好, שלום, 😀 “ok”'],
  ] as const)
    it(`removes ${what} from a receiver’s text`, () => {
      assert.equal(plainText(sent), shown)
      assertHarmless(plainText(sent))
    })

  it('makes any receiver’s text harmless', () => {
    const piece = fc.oneof(
      fc.string({ unit: ANY_CHARACTER }),
      fc.constantFrom('\u001b[', '\u001b]', '\u001b\\', ...'\u001b\u009b\u009d\u0007\u009cmJ'),
      fc.constantFrom('<script>', '</script>', '<!--', '-->', '<b', '/>', '&lt;', ...'<>"\n\r\t'),
      fc.constantFrom('\u202e', '\u2066', '\u200b', '\ufeff', '\u{e0041}', '\ud800', '\udc00'),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        assertHarmless(plainText(pieces.join('')))
        for (const line of displayLines(pieces.join(''))) assertHarmless(line)
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('a body', () => {
  const text = (bytes: Buffer | string, contentType?: string, contentEncoding?: string) =>
    displayBody({ bytes: Buffer.from(bytes as Buffer), whole: true, contentType, contentEncoding })

  for (const [name, packed] of [
    ['gzip', gzipSync('hello')],
    ['zstd', zstdCompressSync('hello')],
  ] as const)
    it(`only describes a body that is ${name} and not declared as such`, () =>
      assert.match(JSON.stringify(text(packed, 'text/plain')), /a binary body, \d+ bytes read/))
  it('only describes a body declared as compressed', () => {
    for (const packed of [deflateSync('hello'), brotliCompressSync('hello'), Buffer.from('plain')])
      for (const coding of ['deflate', 'br', 'GZIP', 'x', 'gzip, br'])
        assert.match(JSON.stringify(text(packed, 'text/plain', coding)), /a compressed body/)
    assert.deepEqual(text('plain', undefined, 'Identity'), { lines: ['plain'] })
  })
  it('only describes a binary body', () => {
    for (const bytes of [Buffer.from([0, 1, 2, 3]), Buffer.alloc(100, 0xfe)])
      assert.match(JSON.stringify(text(bytes)), /a binary body, \d+ bytes read/)
  })
  it('decodes a body by its charset', () => {
    for (const [bytes, type] of [
      [Buffer.from('Grüße', 'latin1'), 'text/plain; charset=iso-8859-1'],
      [Buffer.from('Grüße', 'utf16le'), 'text/plain; charset="utf-16le"'],
      [Buffer.from('Grüße'), 'text/plain'],
    ] as const)
      assert.deepEqual(text(bytes, type), { lines: ['Grüße'] })
  })
  it('only describes a body of an unknown charset', () =>
    assert.match(JSON.stringify(text('+ADw-script+AD4-', 'text/html; charset=utf-7')), /a binary body/))
  it('cuts a body to lines, and says so', () => {
    const lines = displayLines(Array.from({ length: 50 }, (_, at) => `${at} ${'😀'.repeat(500)}`).join('\n'))
    assert.equal(lines.length, 41)
    assert.equal(lines[40], '… and 10 more lines')
    assert.equal([...(lines[0] ?? '')].length, 401)
    assert.ok(lines.every((line) => line.isWellFormed()))
  })
  it('drops the last word of a cut body, which may be the start of a secret', () => {
    const bytes = Buffer.from('token sk_live_4eC39H')
    const body = { bytes, whole: false, contentType: undefined, contentEncoding: undefined }
    assert.deepEqual(displayBody(body), { lines: ['token'] })
  })
  it('redacts a body before cutting it, and after removing what is invisible', () => {
    const secret = 'sk_live_4eC39HqLyjWDarjtT1zdp7dc'
    for (const sent of [
      `${'x'.repeat(390)} ${secret}`,
      secret.replaceAll('q', '\u200bq'),
      secret.replaceAll('C', '\u001b[31mC'),
      secret.replaceAll('L', '<wbr>L'),
    ]) {
      const shown = displayLines(sent).join('')
      assert.doesNotMatch(shown, /4eC39|zdp7dc/)
      assert.match(shown, /\[reda/)
    }
  })
})
