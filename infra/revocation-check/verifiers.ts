import { decodeJwt } from 'jose'
import { createAccessTokens, TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import { createRevocationFeed } from '#shared/access-tokens/revocation-feed.ts'
import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'
import type { Installation } from './installation.ts'

/** One way to learn that a token was revoked. */
export interface Verifier {
  name: string
  /** From the reply to a revocation to the first request that must be refused. */
  promised_ms: number
  /** Whether it accepts the token now. @throws Error when it can tell neither. */
  accepts(token: string): Promise<boolean>
  stop?(): void
}

const BY_PAGE_MS = 3_000

/** The resource API: accepts a token if it answers the read of its company's daily figures. */
export function resourceApi({ http }: Installation, apiUrl: string): Verifier {
  return {
    name: 'resource API',
    promised_ms: 0,
    async accepts(token) {
      const { vendor_id } = decodeJwt<{ vendor_id: string }>(token)
      const { statusCode, body } = await http(`${apiUrl}/v1/analytics/${vendor_id}/daily`, {
        headers: { authorization: `Bearer ${token}` },
      })
      if (statusCode === 401) return false
      if (statusCode === 200) return true
      throw new Error(`The API answered ${statusCode} to a daily read: ${body.slice(0, 200)}`)
    },
  }
}

/** RFC 7662, by a service that the operator registered. */
export function introspection(
  { metadata, http }: Installation,
  { id, secret }: { id: string; secret: string },
): Verifier {
  const { introspection_endpoint } = metadata
  if (!introspection_endpoint) throw new Error('The metadata names no introspection_endpoint.')
  return {
    name: 'introspection',
    promised_ms: 0,
    async accepts(token) {
      const { statusCode, body } = await http.post(introspection_endpoint, {
        form: { token },
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      })
      if (statusCode !== 200) throw new Error(`Introspection answered ${statusCode}: ${body.slice(0, 200)}`)
      return JSON.parse(body).active === true
    },
  }
}

/** Any service that installs the package: it polls the revocations page and makes no request for a token. */
export async function revocationsPage({ metadata }: Installation, resource: string): Promise<Verifier> {
  const { issuer, jwks_uri, revocations_uri } = metadata
  if (!revocations_uri) throw new Error('The metadata names no revocations_uri.')
  const silent = { warn() {} }
  const keys = createSigningKeys({ url: jwks_uri, log: silent })
  const revocation = createRevocationFeed({
    url: revocations_uri,
    issuer,
    keys,
    log: silent,
  })
  await keys.start()
  await revocation.start()
  const tokens = createAccessTokens({ keys, revocation, issuer, resource })
  return {
    name: 'revocations page',
    promised_ms: BY_PAGE_MS,
    async accepts(token) {
      try {
        await tokens.requireLive(await tokens.verify({ kind: 'token', token }))
        return true
      } catch (error) {
        if (error instanceof TokenRefused && error.status === 401) return false
        throw error
      }
    },
    stop() {
      revocation.stop()
      keys.stop()
    },
  }
}
