import { type RequestListener, type Server, STATUS_CODES } from 'node:http'
import { createHttpServer, type Unreadable } from '#shared/process/http-server.ts'

const LIMITS = { requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1_024 }

/** Creates the HTTP server of a resource API process. It does not listen yet. */
export const createApiServer = (listener: RequestListener): Server =>
  createHttpServer(listener, LIMITS, unreadableProblem)

/** The status says what is wrong (RFC 9457 §4.2.1), unless there is a `detail`. */
export const unreadableProblem = ({ status, requestId, detail }: Unreadable) => ({
  contentType: 'application/problem+json',
  body: { type: 'about:blank', title: STATUS_CODES[status], status, detail, requestId },
})
