import type { RequestListener, Server } from 'node:http'
import * as shared from '#shared/process/http-server.ts'

const LIMITS: shared.HttpServerLimits = { request_ms: 10_000, headers_ms: 5_000, headersMax_bytes: 8 * 1_024 }

/** The HTTP server of a process of the authorization server. It does not listen yet. */
export const createHttpServer = (listener: RequestListener): Server =>
  shared.createHttpServer(listener, LIMITS, () => ({
    contentType: 'application/json',
    body: { error: 'invalid_request' },
  }))
