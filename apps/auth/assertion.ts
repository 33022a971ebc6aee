import { hash } from 'node:crypto'
import { compactVerify, decodeJwt, decodeProtectedHeader, generateKeyPair, type JWTPayload } from 'jose'
import {
  ASSERTION_ALGORITHMS,
  algorithmsOf,
  type ClientCredentials,
} from '#shared/oauth/client-credentials.ts'
import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { invalidClient, type Refusal } from './refusal.ts'

const TYPES: readonly unknown[] = [undefined, 'JWT', 'client-authentication+jwt']
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const LIFE_MAX_S = 3_600
const AHEAD_MAX_S = 120
const JTI_MAX_CHARACTERS = 255
/** What a process remembers, also for when Redis is away or has lost it. The oldest goes first. */
const USED_MAX = 100_000
/** The clocks of two processes may be two minutes off either way, and are checked every 15 s. */
const CLOCKS_APART_MS = 5 * 60_000

/** What a client sent in place of a secret (RFC 7521 §4.2). Nothing of it is verified. */
export type Assertion = ReturnType<typeof decodeAssertion>

/** Returns an empty one, which fails, for anything but a JWT of this type. */
export function decodeAssertion(type: string | undefined, text = '') {
  try {
    if (type === JWT_BEARER) return { text, header: decodeProtectedHeader(text), claims: decodeJwt(text) }
  } catch {
    // It fails later, like any other.
  }
  return { text: '', header: {}, claims: {} }
}

export type Assertions = ReturnType<typeof createAssertions>

/**
 * Says how an assertion fails to prove that it is this client's (RFC 7523 §3, draft-ietf-oauth-rfc7523bis), if it does.
 * The algorithm follows from the client's key. Without one, a signature is verified all the same, so that the time of
 * an answer does not reveal which ids are in use, or how a client authenticates.
 */
export function createAssertions(parts: { redis: Redis; clock: Clock; issuer: string }) {
  const { redis, clock, issuer } = parts
  // Libraries send either, or what they call. Whoever is sent an assertion for one of them could only use it here, once.
  const audiences: readonly unknown[] = [issuer, `${issuer}/v1/oauth/token`]
  const used = new Map<string, number>()

  async function verify(
    { text, header, claims }: Assertion,
    { clientId, path }: { clientId: string; path: string },
    record: ClientCredentials | undefined,
  ): Promise<Refusal | undefined> {
    const alg = algOf(header)
    if (!alg) return invalidClient('assertion_malformed')
    const key = record?.publicKey && algorithmsOf(record.publicKey).includes(alg) && record.publicKey
    // jose remembers an imported JWK for as long as the client's record is.
    const isSigned = await compactVerify(text, key || (await standIn(alg)), { algorithms: [alg] }).then(
      () => true,
      () => false,
    )
    if (!record) return invalidClient('unknown_client')
    if (!record.publicKey) return invalidClient('assertion_of_secret_client')
    if (!key) return invalidClient('assertion_wrong_algorithm')
    if (!isSigned) return invalidClient('assertion_wrong_key')
    const { iss, sub, aud, jti } = claims
    if (iss !== clientId || sub !== clientId) return invalidClient('assertion_wrong_subject')
    const [audience, ...others] = [aud].flat()
    const isHere = audiences.includes(audience) || audience === issuer + path
    if (!isHere || others.length > 0) return invalidClient('assertion_wrong_audience')
    const untimely = judgeDates(claims, clock.now() / 1_000)
    if (untimely) return untimely
    if (typeof jti !== 'string' || !jti || jti.length > JTI_MAX_CHARACTERS)
      return invalidClient('assertion_no_jti')
    const id = idOf(claims)
    if ((used.get(id) ?? 0) > clock.now()) return invalidClient('assertion_replayed')
    setNewest(used, id, endOf_ms(claims), USED_MAX)
  }

  /** Refuses what another process has taken. Not for a request over its client's rate, which must not fill Redis. */
  async function use({ claims }: Assertion): Promise<Refusal | undefined> {
    const key = redisKeys.usedAssertion(idOf(claims))
    const stored = await redis.set(key, '', 'PX', endOf_ms(claims) - clock.now(), 'NX').catch(() => 'OK')
    return stored === 'OK' ? undefined : invalidClient('assertion_replayed')
  }
  return { verify, use }
}

const idOf = ({ sub, jti }: JWTPayload): string => hash('sha256', `${sub} ${jti}`, 'base64url')
const endOf_ms = ({ exp = 0 }: JWTPayload): number => Math.ceil(exp * 1_000) + CLOCKS_APART_MS

/** Returns undefined for a header that no client's assertion may have. Keys named in it are ignored, as is any `kid`. */
const algOf = ({ alg, typ, crit, b64 }: Partial<Record<string, unknown>>): string | undefined =>
  TYPES.includes(typ) && crit === undefined && b64 === undefined
    ? ASSERTION_ALGORITHMS.find((known) => known === alg)
    : undefined

/** A lifetime counts from `iat` if the sender's clock is a little ahead: libraries ask for exactly an hour. */
function judgeDates({ iat = 0, nbf = 0, exp }: JWTPayload, now_s: number): Refusal | undefined {
  if (typeof exp !== 'number') return invalidClient('assertion_no_exp')
  if (typeof iat !== 'number' || typeof nbf !== 'number') return invalidClient('assertion_malformed')
  const ahead_s = Math.max(iat, nbf) - now_s
  if (ahead_s > AHEAD_MAX_S) return invalidClient('assertion_from_the_future', seconds(ahead_s))
  if (exp <= now_s) return invalidClient('assertion_expired', seconds(now_s - exp))
  if (exp > Math.max(iat, now_s) + LIFE_MAX_S)
    return invalidClient('assertion_too_far_ahead', seconds(exp - now_s))
  return undefined
}

const seconds = (duration_s: number): string => String(Math.round(duration_s))

const standIns: Record<string, Promise<CryptoKey>> = {}

/** A key of the algorithm that has signed nothing. */
function standIn(alg: string): Promise<CryptoKey> {
  standIns[alg] ??= generateKeyPair(alg).then(({ publicKey }) => publicKey)
  return standIns[alg]
}
