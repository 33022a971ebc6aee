import type { Workload } from './platforms.ts'

export interface ComparedClaim {
  name: string
  /** What is compared with the token. */
  expected: string
  /** undefined: the token lacks it. */
  actual: string | undefined
  matches: boolean
}

const LIFETIME_MAX_S = 3_600

/**
 * Compares a token with a client claim by claim, as the service would; its signature is not checked.
 * Returns undefined if it is not a JWT.
 */
export function compareToken(
  token: string,
  { issuer, claims }: Workload,
  { audience, now }: { audience: string; now: Date },
): ComparedClaim[] | undefined {
  const payload = payloadOf(token)
  if (!payload) return undefined
  const { aud, exp, iat } = payload
  const lives = Number(exp) - Number(iat) <= LIFETIME_MAX_S && Number(exp) * 1_000 > now.getTime()
  const compared = (name: string, expected: string, matches = payload[name] === expected): ComparedClaim => ({
    name,
    expected,
    actual: textOf(payload[name]),
    matches,
  })
  return [
    compared('iss', issuer),
    ...Object.entries(claims).map(([name, text]) => compared(name, text)),
    compared('aud', audience, aud === audience || textOf(aud) === JSON.stringify([audience])),
    compared('exp', 'in the future, and at most an hour after iat', lives),
  ]
}

function payloadOf(token: string): Record<string, unknown> | undefined {
  const [, part, signature] = token.trim().split('.')
  if (!part || !signature) return undefined
  try {
    const bytes = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
    const payload = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))))
    return typeof payload === 'object' && payload !== null ? payload : undefined
  } catch {
    return undefined
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : JSON.stringify(value)
