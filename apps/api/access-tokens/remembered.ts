import { hash } from 'node:crypto'
import type { Clock } from '#shared/clock.ts'
import type { SigningKeys } from './signing-keys.ts'
import type { VerifiedToken, VerifyToken } from './verify.ts'

const TOKENS_REMEMBERED = 10_000

/**
 * Remembers tokens that passed until they expire or their signing key is gone or replaced; what is true of a
 * signature stays true. Whether a token was revoked is never remembered: that is asked for every request.
 * Tokens themselves are not kept, only their SHA-256.
 */
export function rememberVerified({
  verify,
  keys,
  clock,
  limit = TOKENS_REMEMBERED,
}: {
  verify: VerifyToken
  keys: SigningKeys
  clock: Clock
  limit?: number
}): VerifyToken {
  const remembered = new Map<string, VerifiedToken>()
  const stillGood = ({ expiresAt_s, signingKey }: VerifiedToken) =>
    Math.floor(clock.now() / 1_000) < expiresAt_s && keys.known(signingKey.kid) === signingKey

  return async (text) => {
    const digest = hash('sha256', text, 'base64')
    const token = remembered.get(digest)
    if (token && stillGood(token)) return { verdict: 'valid', token }
    remembered.delete(digest)
    const verdict = await verify(text)
    if (verdict.verdict === 'valid') {
      remembered.set(digest, verdict.token)
      // A Map keeps the order of insertion, and what was verified first is about to expire first.
      const [oldest] = remembered.size > limit ? remembered.keys() : []
      if (oldest !== undefined) remembered.delete(oldest)
    }
    return verdict
  }
}
