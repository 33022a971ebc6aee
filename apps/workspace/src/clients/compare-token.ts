import { decodeJwt } from 'jose'
import type { ClientWorkload } from './platforms.ts'

export interface ComparedClaim {
  name: string
  /** What the token must have, character by character. */
  expected: string
  /** What it has. */
  actual?: string | undefined
  /** undefined: there is no token. */
  matches?: boolean
}

const LIFETIME_MAX_S = 3_600
const LIFETIME = 'in the future, at most an hour after iat'

/** Returns what the service expects of a client's tokens and what this one has. Ignores its signature. */
export function compareToken(
  token: string,
  { issuer, claims }: Pick<ClientWorkload, 'issuer' | 'claims'>,
  { audience, now }: { audience: string; now: Date },
): ComparedClaim[] {
  const expected = Object.entries({ iss: issuer, ...claims, aud: audience })
  const payload = decodePayload(token)
  if (!payload) return expected.map(([name, text]) => ({ name, expected: text }))
  const { exp, iat } = payload
  const lives = Number(exp) - Number(iat) <= LIFETIME_MAX_S && Number(exp) * 1_000 > now.getTime()
  const compared = expected.map(([name, text]) => {
    const actual = formatClaim(payload[name])
    const isInList = name === 'aud' && actual === JSON.stringify([audience])
    return { name, expected: text, actual, matches: payload[name] === text || isInList }
  })
  return [...compared, { name: 'exp', expected: LIFETIME, actual: formatClaim(exp), matches: lives }]
}

/** Returns the payload of a JWT, undefined if the text is none. */
export function decodePayload(token: string): Record<string, unknown> | undefined {
  try {
    return decodeJwt(token.trim())
  } catch {
    return undefined
  }
}

const formatClaim = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : JSON.stringify(value)
