import { hash } from 'node:crypto'
import type { SigningKeys } from './signing-keys.ts'
import type { TokenVerdict, VerifyToken } from './verify.ts'

const TOKENS_REMEMBERED = 10_000

/**
 * Remembers good tokens until they expire, so that repeating one costs no signature verification. Nothing
 * outlasts the signing key, which may be withdrawn or replaced. Whether a token was revoked is never
 * remembered: every request asks. Tokens themselves are not kept, only their SHA-256.
 */
export function rememberVerified(parts: {
  verify: VerifyToken
  keys: SigningKeys
  clock: { now(): number }
  limit?: number
}): VerifyToken {
  const { verify, keys, clock, limit = TOKENS_REMEMBERED } = parts
  const remembered = new Map<string, TokenVerdict & { verdict: 'valid' }>()

  return async (text) => {
    const digest = hash('sha256', text, 'base64')
    const known = remembered.get(digest)
    if (known && clock.now() < known.expiresAt_s * 1_000 && keys.known(known.token.kid) === known.signingKey)
      return known
    remembered.delete(digest)
    const verdict = await verify(text)
    if (verdict.verdict === 'valid') {
      remembered.delete(digest)
      remembered.set(digest, verdict)
      // The oldest goes: a Map keeps the order of insertion.
      if (remembered.size > limit) remembered.delete(remembered.keys().next().value as string)
    }
    return verdict
  }
}
