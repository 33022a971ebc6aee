import { hash } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { isSingleUse, judgeClaims } from './assertion-claims.ts'
import { judgeSignature } from './assertion-key.ts'
import { invalidClient, type Refusal } from './refusal.ts'

/** RFC 7523; draft-ietf-oauth-spiffe-client-auth. The record decides what proves a client, not the type. */
const TYPES = ['jwt-bearer', 'jwt-spiffe'].map(
  (type) => `urn:ietf:params:oauth:client-assertion-type:${type}`,
)
/** What a process remembers, also for when Redis is away or has lost it. The oldest goes first. */
const USED_MAX = 100_000
/** The clocks of two processes may be two minutes off either way, and are checked every 15 s. */
const CLOCKS_APART_MS = 5 * 60_000

/** What a client sent in place of a secret (RFC 7521 §4.2). Nothing of it is verified. */
export type Assertion = ReturnType<typeof decodeAssertion>

/** Returns an empty one, which fails, for anything but a JWT of these types. */
export function decodeAssertion(type: string | undefined, text = '') {
  try {
    if (TYPES.includes(type ?? ''))
      return { text, header: decodeProtectedHeader(text), claims: decodeJwt(text) }
  } catch {
    // It fails later, like any other.
  }
  return { text: '', header: {}, claims: {} }
}

export type Assertions = ReturnType<typeof createAssertions>

/** Judges assertions (RFC 7521, RFC 7523), and takes each once. */
export function createAssertions(parts: { redis: Redis; clock: Clock; issuer: string; limit: RateLimit }) {
  const { redis, clock, issuer, limit } = parts
  // Libraries send either, or what they call. Whoever is sent an assertion for one of them could only use it here, once.
  const audiences = [issuer, `${issuer}/v1/oauth/token`]
  const used = new Map<string, number>()

  /** Returns why an assertion does not prove that it is this client's, if it does not, or was used here before. */
  async function verify(
    assertion: Assertion,
    { clientId, path }: { clientId: string; path: string },
    record: ClientCredentials | undefined,
  ): Promise<Refusal | undefined> {
    const { claims } = assertion
    const workload = record?.workload ?? null
    const allowed = workload ? [issuer] : [...audiences, issuer + path]
    const expected = { clientId, audiences: allowed, now_s: clock.now() / 1_000 }
    const refusal = (await judgeSignature(assertion, record)) ?? judgeClaims(claims, workload, expected)
    if (refusal || !isSingleUse(workload)) return refusal
    const id = idOf(claims)
    if ((used.get(id) ?? 0) > clock.now()) return invalidClient('assertion_replayed')
    setNewest(used, id, endOf_ms(claims), USED_MAX)
  }

  /** Refuses what another process has taken. Returns the rate that forbids to fill Redis: only a company's is asked about. */
  async function use({ claims }: Assertion, { workload, vendorId }: ClientCredentials) {
    if (!isSingleUse(workload)) return undefined
    const key = redisKeys.usedAssertion(idOf(claims))
    const storing = redis.set(key, '', 'PX', endOf_ms(claims) - clock.now(), 'NX').catch(() => 'OK')
    const [rate, stored] = await Promise.all([limit.consume(vendorId), storing])
    if (stored !== 'OK') return invalidClient('assertion_replayed')
    if (!rate.allowed) await redis.set(key, '', 'PX', 1).catch(() => {})
    return rate.allowed ? undefined : rate
  }
  return { verify, use }
}

const idOf = ({ iss, jti }: JWTPayload): string => hash('sha256', `${iss} ${jti}`, 'base64url')
const endOf_ms = ({ exp = 0 }: JWTPayload): number => Math.ceil(exp * 1_000) + CLOCKS_APART_MS
