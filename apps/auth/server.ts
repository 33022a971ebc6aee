import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { RequestContext } from '#shared/http/request-context.ts'
import { createHttpServer } from '#shared/process/http-server.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { Audit } from './audit.ts'
import { ClientGone } from './form.ts'
import { answerUncached, type Handler, type HttpAnswer, type OAuthExchange, OAuthRefusal } from './http.ts'

const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8 * 1_024 }

export const createAuthServer = (listener: RequestListener): Server =>
  createHttpServer(listener, LIMITS, ({ detail }) => ({
    contentType: 'application/json',
    body: { error: 'invalid_request', error_description: detail },
  }))

export type Methods = ReadonlyMap<string, Handler>

export const post = (handler: Handler): Methods => new Map([['POST', handler]])

/** HEAD is GET without the body (RFC 9110 §9.3.2), which Node leaves out. */
export const get = (handler: Handler): Methods => new Map(['GET', 'HEAD'].map((method) => [method, handler]))

/** Answers every request by `routes`, which list all paths that exist, or with 404 or 405. */
export function createListener(parts: {
  routes: ReadonlyMap<string, Methods>
  readContext: (request: IncomingMessage) => RequestContext
  audit: Audit
  metrics: Metrics
  /** Where people read what an error means. */
  errorPage: string
}): RequestListener {
  const { routes, readContext, audit, metrics, errorPage } = parts
  /** Returns undefined if the sender has disconnected. */
  async function answer(exchange: OAuthExchange): Promise<HttpAnswer | undefined> {
    const methods = routes.get(exchange.path)
    // Not OAuth errors, but in the same shape.
    if (!methods) return answerUncached({ error: 'not_found' }, 404)
    const handler = methods.get(exchange.request.method ?? '')
    const Allow = [...methods.keys()].join(', ')
    if (!handler) return answerUncached({ error: 'method_not_allowed' }, 405, { Allow })
    try {
      const result = await handler(exchange)
      if (!(result instanceof OAuthRefusal)) return result
      exchange.refusal = result
      audit.refused(exchange, result)
      if (result.parts.error === 'temporarily_unavailable') await exchange.undoUse?.()
      return result.answer(errorPage)
    } catch (error) {
      if (error instanceof ClientGone) return undefined
      audit.failed(exchange, error)
      return answerUncached({ error: 'server_error' }, 500)
    }
  }

  return (request, response) => {
    const started_ms = performance.now()
    const [path = '', ...rest] = (request.url ?? '').split('?')
    const exchange: OAuthExchange = { request, context: readContext(request), path, query: rest.join('?') }
    void answer(exchange).then((result) => {
      if (!result) return
      // Recorded before the client can send its next request, which keeps records in order.
      audit.answered(exchange, result.status)
      write(response, result, exchange)
      metrics.observe({
        route: routes.has(path) ? path : 'unmatched',
        method: request.method ?? '',
        status: result.status,
        duration_ms: performance.now() - started_ms,
      })
    })
  }
}

function write(
  response: ServerResponse,
  { status, body, headers }: HttpAnswer,
  { context: { requestId }, rate }: OAuthExchange,
): void {
  response.writeHead(status, {
    ...(rate && rateLimitHeaders(rate)),
    // A refusal states the limit that it is about.
    ...headers,
    // A 304 would state the length of what it leaves out (RFC 9110 §15.4.5).
    ...(status !== 304 && { 'Content-Length': Buffer.byteLength(body) }),
    'X-Request-Id': requestId,
  })
  response.end(body)
}
