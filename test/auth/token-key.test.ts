import { strict as assert } from 'node:assert'
import { verify } from 'node:crypto'
import { inspect } from 'node:util'
import { joseSignature } from '../../apps/auth/token-key.ts'
import { createTestKey } from '../support/token-key.ts'

describe('a key that signs access tokens', () => {
  for (const [alg, dsaEncoding] of [
    ['ES256', 'ieee-p1363'],
    ['RS256', 'der'],
  ] as const)
    it(`signs with ${alg} as JWS requires (RFC 7518 §3.1)`, () => {
      const key = createTestKey({ alg })
      const data = Buffer.from('header.payload')
      const signature = key.sign(data)
      assert.ok(verify('sha256', data, { key: key.keyObject(), dsaEncoding }, signature))
    })

  it('shows its private half to nothing that copies, prints or serializes it', () => {
    const key = createTestKey()
    const shown = [inspect(key, { depth: 9, showHidden: true }), JSON.stringify(key), inspect({ ...key })]
    for (const text of shown) assert.doesNotMatch(text, /private/i)
    assert.equal(key.keyObject().type, 'public')
  })
})

describe('the signature of an access token', () => {
  /** A DER INTEGER (X.690 §8.3): as short as it can be, and never with its first bit set. */
  const integer = (bytes: number[]): number[] => {
    const content = (bytes[0] as number) > 0x7f ? [0, ...bytes] : bytes
    return [2, content.length, ...content]
  }
  const numbers = {
    'of full length': [0x7f, ...Array(31).fill(1)],
    'with its first bit set': [0x80, ...Array(31).fill(2)],
    'a byte short': Array(31).fill(3),
    'a byte short with its first bit set': [0xff, ...Array(30).fill(4)],
    'of one byte': [5],
  }

  for (const [whatR, r] of Object.entries(numbers))
    for (const [whatS, s] of Object.entries(numbers))
      it(`writes 32 bytes for r ${whatR}, and 32 for s ${whatS} (RFC 7518 §3.4)`, () => {
        const content = [...integer(r), ...integer(s)]
        const padded = (bytes: number[]) => [...Array(32 - bytes.length).fill(0), ...bytes]
        const signature = joseSignature(Buffer.from([0x30, content.length, ...content]))
        assert.deepEqual([...signature], [...padded(r), ...padded(s)])
      })
})
