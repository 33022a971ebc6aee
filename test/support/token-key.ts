import { generateKeyPairSync } from 'node:crypto'
import type { JWK } from 'jose'
import type { SigningAlg } from '#shared/oauth/signing-keys.ts'
import { TokenKey } from '../../apps/auth/token-key.ts'

/** A new key that signs access tokens, as the key ring opens it. */
export function createTestKey({
  kid = 'test',
  alg = 'ES256',
}: {
  kid?: string
  alg?: SigningAlg
} = {}): TokenKey {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const publicJwk = { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } as JWK
  return new TokenKey({ kid, alg, ...pair, publicJwk })
}
