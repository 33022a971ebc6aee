import type { Clock } from '#shared/process/clock.ts'
import { answerUncached } from './answer.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import type { ClockWatch } from './clock-watch.ts'
import { CREDENTIAL_FIELDS } from './credentials.ts'
import { ACCESS_TOKEN_LIFE_S, type Grant } from './grant.ts'
import { Refusal, tooManyRequests, unavailable } from './refusal.ts'
import type { Handler } from './route.ts'
import type { TokenKey } from './token-key.ts'

const FIELDS = new Set(['grant_type', 'scope', 'resource', ...CREDENTIAL_FIELDS])

/** POST /v1/oauth/token: the client-credentials grant (RFC 6749 §4.4). */
export function createPostToken(
  parts: ClientEndpoint & {
    grantOf: (key: TokenKey) => Grant
    clock: Clock
    clockWatch: ClockWatch
    /** The identifier of the API (RFC 8707), which every token is for. */
    resource: string
  },
): Handler {
  const { authenticate, limit, grantOf, audit, clock, clockWatch, resource: audience } = parts
  // Scheme and host are the same in any case, and so are no path and `/` (RFC 3986 §6.2). One spelling is judged.
  const audienceHref = new URL(audience).href
  return async (exchange) => {
    const read = await readClientRequest(exchange, FIELDS, 'grant_type')
    if (read instanceof Refusal) return read
    const { form, credentials, value: grantType } = read
    const client = await authenticate(exchange, credentials, limit)
    if (client instanceof Refusal) return client
    const { record, signer, rate, standing } = client
    const scope = form.get('scope') ?? ''
    const sent = form.get('resource') ?? audience
    const resource = URL.parse(sent)?.href === audienceHref ? audience : sent
    const grant = grantOf(signer)
    const granted = await grant.judge({ assigned: record.scopes, grantType, scope, resource })
    if (granted instanceof Refusal) return granted
    if (!rate.allowed) return tooManyRequests('rate_of_client', rate)
    if (standing === 'undecided') return unavailable('revocation_undecided')
    if (!clockWatch.isRight()) return unavailable('clock_wrong')
    // Checked again for each token, since most verdicts are remembered.
    const assigned: readonly string[] = record.scopes
    if (!scope.split(' ').every((name) => assigned.includes(name)))
      throw new Error('a scope was granted that the client does not have')

    const { clientId, vendorId, expiresAt } = record
    const { token, jti } = await grant.issue(granted, record, scope, clock.now())
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
