import type { RequestContext } from '#shared/http/request-context.ts'
import { CLIENT_ID_PATTERN, SERVICE_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import type { ClientUsage } from '#shared/usage/client-usage.ts'
import { AUTHENTICATION_FAILURES, type OAuthExchange, type OAuthRefusal } from './http.ts'

type TokenIssued = Record<'clientId' | 'vendorId' | 'jti' | 'kid' | 'scope', string>

export type Audit = ReturnType<typeof createAudit>

/**
 * Logs and counts what a security team may ask about later, and records each answer for the client's company.
 * Fields are listed explicitly, so that nothing of a request is logged but its ids and address. A client id
 * is logged only if it looks like one, since people paste secrets into the wrong field.
 */
export function createAudit(log: Log, { counter }: Metrics, usage: ClientUsage) {
  const issuedTotal = counter('integration_tokens_issued_total', 'Access tokens issued')
  const revokedTotal = counter('integration_tokens_revoked_total', 'Access tokens revoked by their client')
  const help = 'Requests to the OAuth endpoints that were refused, by reason'
  const refusedTotal = counter('integration_oauth_refusals_total', help, { reason: AUTHENTICATION_FAILURES })
  return {
    tokenIssued(context: RequestContext, token: TokenIssued): void {
      issuedTotal.inc()
      usage.countToken(token.clientId, token.scope, context.clientAddress)
      log.info({ event: 'token.issued', ...context, ...token }, 'token issued')
    },
    tokenRevoked(context: RequestContext, token: Pick<TokenIssued, 'clientId' | 'jti'>): void {
      revokedTotal.inc()
      log.info({ event: 'token.revoked', ...context, ...token }, 'token revoked')
    },
    refused({ context, path, clientId = '' }: OAuthExchange, { parts }: OAuthRefusal): void {
      const { status, error, reason } = parts
      refusedTotal.inc({ reason })
      const isId = CLIENT_ID_PATTERN.test(clientId) || SERVICE_ID_PATTERN.test(clientId)
      const fields = { ...context, path, ...(isId && { clientId }), status, error, reason }
      log.info({ event: 'request.refused', ...fields }, 'request refused')
    },
    /** Records an answer to a client that exists, for its company. */
    answered({ request, context, path, client, refusal }: OAuthExchange, status: number): void {
      if (!client) return
      const { clientId, vendorId } = client.record
      const { error: code, reason, about } = refusal?.parts ?? {}
      const sender = { requestId: context.requestId, address: context.clientAddress }
      const answer = { route: `${request.method} ${path}`, status, code }
      // A 503 means that the stores could not decide. It is not the client's mistake.
      const cause = status !== 503 && { reason, about }
      usage.recordRequest({ clientId, vendorId, proven: client.proven, ...sender, ...answer, ...cause })
    },
    failed({ context, path }: OAuthExchange, error: unknown): void {
      const message = error instanceof Error ? error.message : 'not an error'
      log.warn({ event: 'request.failed', ...context, path, error: message }, 'request failed')
    },
  }
}
