import { type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { OpenidRefusal } from './openid-refusal.ts'

/** What a provider says has ended: one of its sessions, or all sessions of a person, or both to be sure. */
export interface OpenidLogout {
  subject: string | undefined
  sid: string | undefined
  /** Unique to the token. */
  jti: string
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Explicit typing is recommended, and older providers do without it. */
const TYPES = ['logout+jwt', 'jwt']
const NAME_MAX_CHARACTERS = 255
/** Delivery is immediate. `jti` is remembered for longer than the two together allow a token to be used. */
const AGE_MAX_S = 300
const CLOCK_SKEW_MAX_S = 120

/**
 * Judges a logout token by all of OpenID Connect Back-Channel Logout 1.0 §2.6 but whether it was used before.
 * @throws OpenidRefusal not_trusted, or what jose throws.
 */
export async function judgeLogoutToken(
  token: string,
  {
    keys,
    algorithms,
    issuer,
    clientId,
    now_ms,
  }: { keys: JWTVerifyGetKey; algorithms: string[]; issuer: string; clientId: string; now_ms: number },
): Promise<OpenidLogout> {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    algorithms,
    issuer,
    audience: clientId,
    currentDate: new Date(now_ms),
    clockTolerance: CLOCK_SKEW_MAX_S,
    maxTokenAge: AGE_MAX_S,
    requiredClaims: ['exp', 'jti'],
  })
  const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '')
  if (type !== undefined && !TYPES.includes(type)) throw untrusted('typ')
  // It may name no other client beside this one (OpenID Connect Core §3.1.3.7).
  if ([payload.aud].flat().length > 1) throw untrusted('aud')
  if (!isLogoutEvent(payload)) throw untrusted('events')
  // An ID token has one.
  if (Object.hasOwn(payload, 'nonce')) throw untrusted('nonce')
  const [subject, sid, jti] = [named(payload, 'sub'), named(payload, 'sid'), named(payload, 'jti')]
  if (jti === undefined) throw untrusted('jti')
  if (subject === undefined && sid === undefined) throw untrusted('sid')
  return { subject, sid, jti }
}

function isLogoutEvent({ events }: JWTPayload): boolean {
  if (typeof events !== 'object' || events === null || !Object.hasOwn(events, EVENT)) return false
  const event = (events as Record<string, unknown>)[EVENT]
  return typeof event === 'object' && event !== null && !Array.isArray(event)
}

function named(payload: JWTPayload, claim: 'sub' | 'sid' | 'jti'): string | undefined {
  if (!Object.hasOwn(payload, claim)) return undefined
  const name = openidName(payload[claim])
  if (name === undefined) throw untrusted(claim)
  return name
}

/** Returns the name of a person or a session as a provider gives it; undefined for anything that cannot be one. */
export const openidName = (value: unknown): string | undefined =>
  typeof value === 'string' &&
  value.length > 0 &&
  value.length <= NAME_MAX_CHARACTERS &&
  !value.includes('\0')
    ? value
    : undefined

const untrusted = (about: string) => new OpenidRefusal('not_trusted', about)
