import type { RequestListener, Server } from 'node:http'
import * as shared from '#shared/process/http-server.ts'

const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8 * 1_024 }

/** The HTTP server of a process of the authorization server. It does not listen yet. */
export const createHttpServer = (listener: RequestListener): Server =>
  shared.createHttpServer(listener, LIMITS, () => ({
    contentType: 'application/json',
    body: { error: 'invalid_request' },
  }))
