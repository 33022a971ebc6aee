import { type RequestListener, type Server, STATUS_CODES } from 'node:http'
import { createHttpServer } from '#shared/process/http-server.ts'

const LIMITS = { requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1_024 }

/** Creates the HTTP server of a resource API process. It does not listen yet. */
export const createApiServer = (listener: RequestListener): Server =>
  createHttpServer(listener, LIMITS, ({ status, requestId }) => ({
    contentType: 'application/problem+json',
    // No request could be read, so the status says it all (RFC 9457 §4.2.1).
    body: { type: 'about:blank', title: STATUS_CODES[status], status, requestId },
  }))
