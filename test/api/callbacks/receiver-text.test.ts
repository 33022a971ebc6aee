import assert from 'node:assert/strict'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { plainText } from '../../../apps/api/callbacks/plain-text.ts'
import { displayBody, displayLines } from '../../../apps/api/callbacks/receiver-text.ts'
import { ANY_CHARACTER } from '../../support/any-character.ts'
import { read } from '../../support/project.ts'

/** Plain text: no control, escape, format or bidi character, no tag. New lines are the only exception. */
function assertHarmless(text: string): void {
  assert.doesNotMatch(text, /[[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]--[\n]]/v)
  assert.doesNotMatch(text, /[<>]/)
}

const TEXTS: { removed: [what: string, sent: string, shown: string][] } = JSON.parse(
  read('test/api/callbacks/receiver-texts.json'),
)

describe('what a receiver sent, as plain text', () => {
  for (const [what, sent, shown] of TEXTS.removed)
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
