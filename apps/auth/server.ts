import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { BlockList } from 'node:net'
import type { SigningAlg } from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { type RequestContext, requestContext } from '#shared/process/request-context.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type Answer, answerUncached, answerUnmatched } from './answer.ts'
import { createAudit } from './audit.ts'
import { createAuthenticate, type Limits } from './authenticate.ts'
import type { ClientRecords } from './client-records.ts'
import { createGetJwks, createGetMetadata, createGetReadiness, getHealth } from './documents.ts'
import { ClientGone } from './form.ts'
import { createKeyRing } from './key-ring.ts'
import { countedAudit } from './measured.ts'
import { createPostRevoke } from './post-revoke.ts'
import { createPostToken } from './post-token.ts'
import { createTokenProtocol } from './protocol.ts'
import type { Handler } from './route.ts'
import type { UsageCounter } from './usage-counter.ts'

export interface AuthServerDependencies {
  settings: {
    issuer: string
    /** The identifier of the API (RFC 8707), which every token is for. */
    resource: string
    trustedProxies: BlockList
    signingAlg: SigningAlg
    /** 32 bytes. */
    keyEncryptionKey: Buffer
  }
  log: Log
  clock: Clock
  db: Database
  clients: ClientRecords
  revocation: Revocation
  limits: Limits
  usage: UsageCounter
  /** The stores that are refused or gone, and done without. */
  degraded: () => string[]
  metrics: Metrics
}

export interface AuthServer {
  /** Answers every request, whatever it is. */
  readonly listener: RequestListener
  /**
   * Loads the signing keys, making the first one when there is none, and resolves when a token could be issued.
   * @throws SigningKeyUnreadable when no stored key opens; whatever the database throws.
   */
  ready(): Promise<void>
  /** From now on /readyz answers 503; everything else is answered as before. */
  drain(): void
  /** Ends what runs beside the requests and stores the last counts. */
  close(): Promise<void>
}

/** The authorization server: every path and method that exists, and what answers it. */
export function createAuthServer(dependencies: AuthServerDependencies): AuthServer {
  const { settings, log, clock, db, clients, revocation, limits, usage, degraded, metrics } = dependencies
  const { issuer, resource, trustedProxies, signingAlg: alg, keyEncryptionKey: encryptionKey } = settings
  const audit = countedAudit(createAudit(log), metrics)
  const keys = createKeyRing({ db, clock, log, alg, encryptionKey })
  const authenticate = createAuthenticate({ clients, revocation, limits, keys })
  const protocol = createTokenProtocol({ issuer, resource })
  const shared = { authenticate, audit, clock, issuer, resource }
  let ready = false

  const routes = new Map<string, Methods>([
    ['/v1/oauth/token', post(createPostToken({ ...shared, protocol, usage }))],
    ['/v1/oauth/revoke', post(createPostRevoke({ ...shared, revocation, keys }))],
    ['/v1/oauth/jwks', get(createGetJwks(keys))],
    ['/.well-known/oauth-authorization-server', get(createGetMetadata({ issuer, resource }))],
    ['/healthz', get(getHealth)],
    ['/readyz', get(createGetReadiness({ isReady: () => ready, degraded }))],
  ])

  async function answer(
    request: IncomingMessage,
    context: RequestContext,
    { path, query }: Target,
  ): Promise<Answer | undefined> {
    const methods = routes.get(path)
    if (!methods) return answerUnmatched(404)
    const handler = methods.get(request.method ?? '')
    if (!handler) return answerUnmatched(405, { Allow: [...methods.keys()].join(', ') })
    try {
      return await handler({ request, context, path, query })
    } catch (error) {
      if (error instanceof ClientGone) return undefined
      audit.failed(context, path, error)
      return answerUncached(500, { error: 'server_error' })
    }
  }

  return {
    listener(request, response) {
      const started_ms = performance.now()
      const context = requestContext(request, trustedProxies)
      const target = targetOf(request.url ?? '')
      void answer(request, context, target).then((given) => {
        if (!given) return
        write(response, given, context.requestId)
        metrics.answered({
          route: routes.has(target.path) ? target.path : 'unmatched',
          method: request.method ?? '',
          status: given.status,
          duration_ms: performance.now() - started_ms,
        })
      })
    },
    async ready() {
      await keys.load()
      keys.poll()
      usage.start()
      ready = true
    },
    drain() {
      ready = false
    },
    async close() {
      ready = false
      keys.close()
      await usage.close()
    },
  }
}

interface Target {
  path: string
  query: string
}

function targetOf(target: string): Target {
  const mark = target.indexOf('?')
  return mark < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}

type Methods = ReadonlyMap<string, Handler>

const post = (handler: Handler): Methods => new Map([['POST', handler]])

/** HEAD is GET without the body (RFC 9110 §9.3.2); Node leaves the body out. */
const get = (handler: Handler): Methods =>
  new Map([
    ['GET', handler],
    ['HEAD', handler],
  ])

function write(response: ServerResponse, { status, body, headers }: Answer, requestId: string): void {
  response.writeHead(status, {
    ...headers,
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
  })
  response.end(body)
}
