import type { Clock } from '#shared/process/clock.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import type { ClockWatch } from './clock-watch.ts'
import { CREDENTIAL_FIELDS } from './credentials.ts'
import { ACCESS_TOKEN_LIFE_S, type Grant } from './grant.ts'
import { answerUncached, type Handler, OAuthRefusal, tooManyRequests, tryLater } from './http.ts'
import type { TokenKey } from './token-key.ts'

const FIELDS = new Set(['grant_type', 'scope', 'resource', ...CREDENTIAL_FIELDS])

/** POST /v1/oauth/token: the client-credentials grant (RFC 6749 §4.4). */
export function createPostToken(
  parts: ClientEndpoint & {
    grantFor: (key: TokenKey) => Grant
    clock: Clock
    clockWatch: ClockWatch
    /** The identifier of the API (RFC 8707), which every token is for. */
    resource: string
  },
): Handler {
  const { authenticate, limit, grantFor, audit, clock, clockWatch, resource: audience } = parts
  // URLs that differ only in the case of the host or an empty path are the same (RFC 3986 §6.2).
  const audienceHref = new URL(audience).href
  return async (exchange) => {
    const tokenRequest = await readClientRequest(exchange, FIELDS, 'grant_type')
    if (tokenRequest instanceof OAuthRefusal) return tokenRequest
    const { form, credentials, value: grantType } = tokenRequest
    const client = await authenticate(exchange, credentials, limit)
    if (client instanceof OAuthRefusal) return client
    const { record, signer, rate, standing } = client
    const scope = form.get('scope') ?? ''
    const indicators = form.get('resource')?.split(' ') ?? []
    const resource = indicators.find((url) => URL.parse(url)?.href !== audienceHref) ?? audience
    const grant = grantFor(signer)
    const grantClient = await grant.check({ assigned: record.scopes, grantType, scope, resource })
    if (grantClient instanceof OAuthRefusal) return grantClient
    if (!rate.allowed) return tooManyRequests('rate_of_client', rate)
    if (standing === 'undecided') return tryLater('revocation_undecided')
    if (!clockWatch.isRight()) return tryLater('clock_wrong')
    // Checked again for each token, since most verdicts come from a cache.
    const assigned: readonly string[] = record.scopes
    if (!scope.split(' ').every((name) => assigned.includes(name)))
      throw new Error('a scope was granted that the client does not have')

    const { clientId, vendorId, expiresAt } = record
    const { token, jti } = await grant.issue(grantClient, record, scope, clock.now())
    audit.tokenIssued(exchange.context, { clientId, vendorId, jti, kid: signer.kid, scope })
    return answerUncached({
      access_token: token,
      token_type: 'Bearer',
      expires_in: ACCESS_TOKEN_LIFE_S,
      scope,
      // RFC 7591 §3.2.1
      ...(expiresAt && { client_secret_expires_at: Math.floor(expiresAt.getTime() / 1_000) }),
    })
  }
}
