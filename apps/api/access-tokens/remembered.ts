import { hash } from 'node:crypto'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { SigningKeys } from './signing-keys.ts'
import { type Lasting, refused, type TokenVerdict, type VerifyToken } from './verify.ts'

/** Of good ones, and as many refused ones, which so cannot push the good ones out. */
const TOKENS_REMEMBERED = 10_000

/**
 * Remembers what was found of tokens whose signature is right, so that to repeat one costs no verification: that it is
 * good until it expires and expired from then on, or what is wrong with its claims. Time is that of each request:
 * where the clock is set back, an expired token is judged anew. Nothing outlasts the signing key, which may be gone or
 * replaced. Whether a token was revoked is never remembered: that is asked for every request. Tokens themselves are
 * not kept, only their SHA-256.
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
  interface Remembered {
    verdict: TokenVerdict
    lasting: Lasting
  }
  const good = new Map<string, Remembered>()
  const bad = new Map<string, Remembered>()
  const expired = refused('expired')

  function recall(digest: string): TokenVerdict | undefined {
    const found = good.get(digest) ?? bad.get(digest)
    if (!found) return undefined
    const { signingKey, from_s, expiresAt_s } = found.lasting
    const now_s = Math.floor(clock.now() / 1_000)
    if (now_s < from_s || keys.known(signingKey.kid) !== signingKey) return undefined
    return now_s < expiresAt_s ? found.verdict : expired
  }

  return async (text, clientAddress) => {
    const digest = hash('sha256', text, 'base64')
    const recalled = recall(digest)
    if (recalled) return recalled
    good.delete(digest)
    bad.delete(digest)
    const verdict = await verify(text, clientAddress)
    if ('lasting' in verdict && verdict.lasting) {
      const remembered = verdict.verdict === 'valid' ? good : bad
      setNewest(remembered, digest, { verdict, lasting: verdict.lasting }, limit)
    }
    return verdict
  }
}
