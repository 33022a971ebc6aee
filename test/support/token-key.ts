import type { SigningAlg } from '#shared/oauth/signing-keys.ts'
import { TokenKey } from '../../apps/auth/token-key.ts'
import { newKeyPair } from './assertions.ts'

/** A new key that signs access tokens, as the key ring opens it. */
export function createTestKey({ alg = 'ES256' as SigningAlg } = {}): TokenKey {
  const kid = 'test'
  const { jwk, ...pair } = newKeyPair(alg === 'ES256' ? 'P-256' : 'RSA')
  return new TokenKey({ kid, alg, ...pair, publicJwk: { ...jwk, kid, alg, use: 'sig' } })
}
