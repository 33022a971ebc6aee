import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { createHttpServer, drain, listen } from '#shared/process/http-server.ts'
import { unreadableProblem } from '../../../apps/api/http/server.ts'
import { STRICT_TRANSPORT_SECURITY } from '../../workspace-headers.ts'
import { NO_IPV6 } from '../ports.ts'
import { errorCode } from '../start-error.ts'
import type { Pages } from './pages.ts'
import { createForward } from './proxy.ts'
import { createRefuse } from './refusal.ts'
import { findService, PLAIN_PATH, SCREEN_PATHS } from './route.ts'

/** The deadline for a whole request. Below the proxy's limit, so a slow caller is reported. */
const LIMITS = { requestTimeout: 25_000, maxHeaderSize: 16 * 1_024, keepAliveTimeout: 130_000 }
const DRAIN_DEADLINE_MS = 10_000
/** Longer than a service's slowest answer. */
const IDLE_TIMEOUT_MS = 30_000

interface GatewayOptions {
  port: number
  /** The address of the authorization server, such as `http://127.0.0.1:8081`. */
  auth: string
  /** The address of the resource API. */
  api: string
  pages: Pages
  /** The API's identifier, which is the base URL of the page that explains its problems. */
  apiResource: string
  idleTimeout_ms?: number
}

export interface Gateway {
  port: number
  /** Accepts no new connections, lets requests in flight finish, and closes the rest after 10 s. */
  stop(): Promise<void>
  kill(): void
}

/**
 * One address for everything. Passes requests to the two services by path and serves the workspace's files.
 * Listens on loopback, on IPv4 and, where available, IPv6, since `localhost` may mean either.
 * @throws the system's error if the port is in use.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const handle = createHandler(options)
  const onIPv4 = createServer(handle)
  const onIPv6 = createServer(handle)
  const port = await listen(onIPv4, { host: '127.0.0.1', port: options.port })
  await listen(onIPv6, { host: '::1', port }).catch((error) => {
    if (NO_IPV6.has(errorCode(error) ?? '')) return
    onIPv4.close()
    throw error
  })
  const servers = [onIPv4, onIPv6].filter((server) => server.listening)
  return {
    port,
    async stop() {
      await Promise.all(servers.map((server) => drain(server, DRAIN_DEADLINE_MS)))
    },
    kill() {
      for (const server of servers) server.close().closeAllConnections()
    },
  }
}

const createServer = (handle: RequestListener) => createHttpServer(handle, LIMITS, unreadableProblem)

function createHandler(options: GatewayOptions): RequestListener {
  const { pages, apiResource, idleTimeout_ms = IDLE_TIMEOUT_MS } = options
  const forward = createForward(idleTimeout_ms)
  // Callers then come through a proxy that terminates TLS. Plain HTTP must not have HSTS (RFC 6797 §7.2).
  const usesTls = apiResource.startsWith('https:')
  return (incoming, response) => {
    const { url = '', method = '', headers } = incoming
    const [path = ''] = url.split('?', 1)
    const service = findService(path)
    response.setHeader('X-Request-Id', randomUUID())
    if (usesTls) response.setHeader('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY)
    const refuse = createRefuse(response, { isOAuth: service === 'auth', apiResource })

    if (!PLAIN_PATH.test(path)) refuse('invalid_request', 'The request target is not a plain path.')
    // http-proxy-3 would declare an empty body and still send this one, in which a second request could hide.
    else if (headers['transfer-encoding'] && (method === 'DELETE' || method === 'OPTIONS'))
      refuse('invalid_request', 'The request must declare its length.')
    else if (service) forward(incoming, response, options[service], refuse)
    else if (method !== 'GET' && method !== 'HEAD')
      refuse('method_not_allowed', 'Only GET and HEAD are supported here.')
    else {
      if (SCREEN_PATHS.test(path)) incoming.url = '/index.html'
      const refuseMissing = () => refuse('not_found', 'No such file.')
      pages(incoming, response, () => {
        if (!headers.accept?.includes('text/html')) return refuseMissing()
        // The page itself says that there is nothing at this address.
        response.statusCode = 404
        incoming.url = '/index.html'
        pages(incoming, response, refuseMissing)
      })
    }
  }
}
