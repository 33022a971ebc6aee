import { hash } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { RateLimit, RateLimitVerdict } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { checkClaims, isSingleUse } from './assertion-claims.ts'
import { checkSignature } from './assertion-key.ts'
import { invalidClient, type OAuthRefusal } from './http.ts'

/** RFC 7523 and draft-ietf-oauth-spiffe-client-auth. A client authenticates as its record says. */
const TYPES = ['jwt-bearer', 'jwt-spiffe'].map(
  (type) => `urn:ietf:params:oauth:client-assertion-type:${type}`,
)
/** Used ids kept in memory, in case Redis is down or has lost them. The oldest is dropped first. */
const USED_MAX = 100_000
/** The clocks of two processes may be two minutes off in either direction. They are checked every 15 s. */
const CLOCKS_APART_MS = 5 * 60_000

/** What a client sent in place of a secret (RFC 7521 §4.2), not verified. */
export type Assertion = ReturnType<typeof decodeAssertion>

/** Returns an empty assertion, which fails verification, for anything but a JWT of these types. */
export function decodeAssertion(type: string | undefined, text = '') {
  try {
    if (TYPES.includes(type ?? ''))
      return { text, header: decodeProtectedHeader(text), claims: decodeJwt(text) }
  } catch {
    // The empty assertion fails later, at the same cost as any other.
  }
  return { text: '', header: {}, claims: {} }
}

type Use = { refusal?: OAuthRefusal; exceededRate?: RateLimitVerdict; undo?: () => Promise<unknown> }
export type Assertions = ReturnType<typeof createAssertions>

/** Verifies assertions (RFC 7521, RFC 7523), and accepts each once. An answer to try again does not count. */
export function createAssertions(parts: { redis: Redis; clock: Clock; issuer: string; limit: RateLimit }) {
  const { redis, clock, issuer, limit } = parts
  // Libraries send the issuer, the token endpoint, or the endpoint that they call. Each is this server.
  const audiences = [issuer, `${issuer}/v1/oauth/token`]
  const used = new Map<string, number>()

  /** Returns a refusal unless the assertion proves this client and is new to this process. */
  async function verify(
    assertion: Assertion,
    { clientId, path }: { clientId: string; path: string },
    record: ClientCredentials | undefined,
  ): Promise<OAuthRefusal | undefined> {
    const { claims } = assertion
    const workload = record?.workload ?? null
    const valid = workload ? [issuer] : [...audiences, issuer + path]
    const expected = { clientId, audiences: valid, now_s: clock.now() / 1_000 }
    const refusal = (await checkSignature(assertion, record)) ?? checkClaims(claims, workload, expected)
    if (refusal || !record || !isSingleUse(workload)) return refusal
    return isUsed(assertionId(claims, record)) ? invalidClient('assertion_replayed') : undefined
  }
  const isUsed = (id: string) => (used.get(id) ?? 0) > clock.now()

  /** Returns a refusal if it was used before, or its company's rate if that is exceeded, and how to undo. */
  async function use({ claims }: Assertion, record: ClientCredentials): Promise<Use> {
    if (!isSingleUse(record.workload)) return {}
    const replayed = { refusal: invalidClient('assertion_replayed') }
    const id = assertionId(claims, record)
    // Another request may have used it since it was verified.
    if (isUsed(id)) return replayed
    setNewest(used, id, keepUntil_ms(claims), USED_MAX)
    const key = redisKeys.usedAssertion(id)
    const write = redis.set(key, '', 'PX', keepUntil_ms(claims) - clock.now(), 'NX').catch(() => 'unknown')
    const [rate, stored] = await Promise.all([limit.consume(record.vendorId), write])
    if (stored === null) return replayed
    const undo = async () => {
      // What another process has stored in the meantime stays.
      if (stored === 'OK') await redis.set(key, '', 'PX', 1).catch(() => {})
      used.delete(id)
    }
    return rate.allowed ? { undo } : { exceededRate: rate, undo }
  }
  return { verify, use }
}

/** A person can paste any key for any issuer, so what it signs uses up a `jti` for that company alone. */
const assertionId = ({ iss, jti }: JWTPayload, { workload, vendorId }: ClientCredentials): string =>
  hash('sha256', `${workload?.keysFrom === 'pasted' ? `${vendorId} ` : ''}${iss} ${jti}`, 'base64url')
const keepUntil_ms = ({ exp = 0 }: JWTPayload): number => Math.ceil(exp * 1_000) + CLOCKS_APART_MS
