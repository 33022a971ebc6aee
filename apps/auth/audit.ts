import { CLIENT_ID_PATTERN } from '#shared/oauth/ids.ts'
import type { Log } from '#shared/process/log.ts'
import { infoLines } from '#shared/process/log-line.ts'
import type { RequestContext } from '#shared/process/request-context.ts'
import type { Refusal } from './refusal.ts'
import type { Exchange } from './route.ts'

/**
 * One line for everything that a security team may ask about later. Fields are named one by one: nothing of a
 * request is logged but the ids and the address. What was sent as client id is logged only when it looks like one,
 * since people paste secrets into the wrong field.
 */
export interface Audit {
  tokenIssued(
    context: RequestContext,
    token: { clientId: string; vendorId: string; jti: string; kid: string; scope: string },
  ): void
  tokenRevoked(context: RequestContext, token: { clientId: string; jti: string }): void
  refused(exchange: Exchange, refusal: Refusal): void
  failed(exchange: Exchange, error: unknown): void
}

const quoted = (text: string): string => JSON.stringify(text)

function contextFields({ requestId, callerRequestId, clientAddress, traceId }: RequestContext): string {
  const caller = callerRequestId === undefined ? '' : `"callerRequestId":${quoted(callerRequestId)},`
  const trace = traceId === undefined ? '' : `,"traceId":${quoted(traceId)}`
  return `"requestId":${quoted(requestId)},${caller}"clientAddress":${quoted(clientAddress)}${trace}`
}

export function createAudit(log: Log): Audit {
  const writeInfo = infoLines(log)
  return {
    tokenIssued(context, { clientId, vendorId, jti, kid, scope }) {
      const ids = `"clientId":${quoted(clientId)},"vendorId":${quoted(vendorId)}`
      const token = `"jti":${quoted(jti)},"kid":${quoted(kid)},"scope":${quoted(scope)}`
      writeInfo(`"event":"token.issued",${contextFields(context)},${ids},${token}`, 'token issued')
    },
    tokenRevoked(context, token) {
      log.info({ event: 'token.revoked', ...context, ...token }, 'token revoked')
    },
    refused({ context, path, clientId }, { answer: { status }, error, reason }) {
      const client = clientId !== undefined && CLIENT_ID_PATTERN.test(clientId) ? { clientId } : {}
      log.info(
        { event: 'request.refused', ...context, path, ...client, status, error, reason },
        'request refused',
      )
    },
    failed({ context, path }, error) {
      const message = error instanceof Error ? error.message : 'not an error'
      log.warn({ event: 'request.failed', ...context, path, error: message }, 'request failed')
    },
  }
}
