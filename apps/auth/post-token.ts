import type { ClientUsage } from '#shared/client-usage.ts'
import type { Clock } from '#shared/process/clock.ts'
import { ACCESS_TOKEN_LIFE_S, issueAccessToken } from './access-token.ts'
import { answerUncached } from './answer.ts'
import { type ClientEndpoint, readClientRequest } from './client-request.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { GrantJudge } from './grant-judge.ts'
import { Refusal, unavailable } from './refusal.ts'
import { type Handler, missing } from './route.ts'
import { areAssigned } from './scope.ts'

const FIELDS = new Set(['grant_type', 'client_id', 'client_secret', 'scope', 'resource'])

/** POST /v1/oauth/token: the client-credentials grant (RFC 6749 §4.4). */
export function createPostToken(
  parts: ClientEndpoint & { judge: GrantJudge; usage: ClientUsage; clock: Clock; clockWatch: ClockWatch },
): Handler {
  const { authenticate, limit, judge, audit, usage, clock, clockWatch, issuer, resource: audience } = parts
  return async (exchange) => {
    const read = await readClientRequest(exchange, FIELDS)
    if (read instanceof Refusal) return read
    const { form, credentials } = read
    const grantType = form.get('grant_type')
    if (grantType === undefined) return missing('grant_type')

    const client = await authenticate(exchange, credentials, limit)
    if (client instanceof Refusal) return client
    const { record, signer, hold } = client
    const scope = form.get('scope') ?? ''
    const resource = form.get('resource') ?? audience
    const refusal = await judge({ assigned: record.scopes, grantType, scope, resource })
    if (refusal) return refusal
    if (hold) return hold
    if (!clockWatch.isRight()) return unavailable('clock_wrong')
    if (!areAssigned(scope, record.scopes))
      throw new Error('a scope was granted that the client does not have')

    const { clientId, vendorId } = record
    const claims = { issuer, audience, clientId, vendorId, scope, now_ms: clock.now() }
    const { token, jti } = issueAccessToken(signer, claims)
    usage.issued(clientId, scope, exchange.context.clientAddress)
    audit.tokenIssued(exchange.context, { clientId, vendorId, jti, kid: signer.kid, scope })
    return answerUncached({
      access_token: token,
      token_type: 'Bearer',
      expires_in: ACCESS_TOKEN_LIFE_S,
      scope,
    })
  }
}
