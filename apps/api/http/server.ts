import { createServer, type RequestListener, type Server } from 'node:http'

/** A request has this long to arrive whole, its header section a third of it: what a slow sender can hold. */
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** Longer than proxies keep an idle connection, so that it is they who close it. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
const HEADERS_MAX_BYTES = 16 * 1_024

/** A node:http server with bounds on what an unknown sender can hold, and how long. It does not listen yet. */
export const createHttpServer = (handle: RequestListener): Server =>
  createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: HEADERS_MAX_BYTES,
    },
    handle,
  )
