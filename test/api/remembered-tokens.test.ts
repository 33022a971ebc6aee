import assert from 'node:assert/strict'
import { importJWK } from 'jose'
import { rememberVerified } from '#shared/access-tokens/remembered.ts'
import type { SigningKey } from '#shared/access-tokens/signing-keys.ts'
import { createTokenVerification, type VerifyToken } from '#shared/access-tokens/verify.ts'
import { forEachTest } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { API_RESOURCE, createTestIssuer, ISSUER, type TestKey, type TokenOptions } from '../support/issuer.ts'

const CLIENT = { clientId: 'cli_x', vendorId: 'ven_x' }

describe('remembered access tokens', () => {
  const clock = forEachTest(createTestClock)
  const issuer = forEachTest(() => createTestIssuer({ clock }))
  let key: SigningKey | undefined
  let verified: number
  beforeEach(async () => {
    key = await publicKeyOf(issuer.key)
    verified = 0
  })

  const signed = (options?: TokenOptions) => issuer.token(CLIENT, options)
  const now_s = () => Math.floor(clock.now() / 1_000)

  /** Judges a token, and says what was found and how often anything was verified until then. */
  function create(limit?: number): (token: string) => Promise<[string, number]> {
    const find = async () => key ?? ('undecided' as const)
    const methods = { start: async () => {}, stop: () => {}, revoked: () => {} }
    const keys = { ...methods, usable: () => key !== undefined, known: () => key, find }
    const verification = createTokenVerification({ keys, issuer: ISSUER, audience: API_RESOURCE, clock })
    const verify: VerifyToken = (...args) => {
      verified += 1
      return verification(...args)
    }
    const judge = rememberVerified({ verify, keys, clock, ...(limit && { limit }) })
    return async (token) => {
      const judged = await judge(token)
      return [judged.verdict === 'refused' ? judged.reason : judged.verdict, verified]
    }
  }

  it('verifies a token once, until it expires', async () => {
    const judge = create()
    const token = await signed()
    assert.deepEqual(await judge(token), ['valid', 1])
    clock.advance(899_000)
    assert.deepEqual(await judge(token), ['valid', 1])
    clock.advance(1_000)
    assert.deepEqual(await judge(token), ['expired', 2])
  })

  for (const [what, reason, claims] of [
    ['having expired', 'expired', { iat: 1, exp: 900 }],
    ['a life of 901 seconds', 'lifetime', { exp: undefined, life_s: 901 }],
    ['a life without an end', 'lifetime', { exp: 1e308 }],
    ['an empty jti', 'claims', { jti: '' }],
    ['a jti of 201 characters', 'claims', { jti: 'x'.repeat(201) }],
    ['more than 8,192 characters', 'malformed', { more: 'x'.repeat(6_000) }],
  ] as const)
    it(`refuses and does not remember a token for ${what}`, async () => {
      const judge = create()
      const token = await signed({ claims: 'life_s' in claims ? { exp: now_s() + claims.life_s } : claims })
      assert.deepEqual(await judge(token), [reason, 1])
      assert.deepEqual(await judge(token), [reason, 2])
    })

  it('does not remember a token that is not yet valid', async () => {
    const judge = create()
    const early = await signed({ claims: { nbf: now_s() + 100 } })
    const future = await signed({ claims: { iat: now_s() + 220 } })
    assert.deepEqual(await judge(early), ['not_yet_valid', 1])
    assert.deepEqual(await judge(future), ['issued_in_future', 2])
    clock.advance(100_000)
    assert.deepEqual(await judge(early), ['valid', 3])
    assert.deepEqual(await judge(future), ['valid', 4])
  })

  it('does not remember a forged token', async () => {
    const judge = create()
    const token = await signed({ key: await issuer.newKey(issuer.key.kid) })
    assert.deepEqual(await judge(token), ['signature', 1])
    assert.deepEqual(await judge(token), ['signature', 2])
  })

  it('verifies a token again when its signing key was replaced', async () => {
    const judge = create()
    const token = await signed()
    await judge(token)
    key = await publicKeyOf(await issuer.newKey(issuer.key.kid))
    assert.deepEqual(await judge(token), ['signature', 2])
  })

  it('remembers a bounded number, and forgets the first verified first', async () => {
    const judge = create(2)
    const tokens = [await signed(), await signed(), await signed()]
    for (const token of tokens) await judge(token)
    assert.deepEqual(await judge(tokens[1] as string), ['valid', 3])
    assert.deepEqual(await judge(tokens[2] as string), ['valid', 3])
    assert.deepEqual(await judge(tokens[0] as string), ['valid', 4])
  })

  it('takes one spelling of a token: padding or spare bits make no second one', async () => {
    const judge = create()
    const good = await signed()
    // The last of 86 characters for 64 bytes has four spare bits.
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(good.at(-1) as string)
    const spare = `${good.slice(0, -1)}${alphabet[last + 1]}`
    for (const spelling of [`${good}=`, `${good}==`, spare])
      assert.equal((await judge(spelling))[0], 'malformed')
    assert.equal((await judge(good))[0], 'valid')
  })
})

async function publicKeyOf({ kid, alg, publicJwk }: TestKey): Promise<SigningKey> {
  return { kid, alg, publicKey: (await importJWK(publicJwk, alg)) as CryptoKey }
}
