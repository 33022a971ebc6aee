import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { BlockList } from 'node:net'
import type { EncryptionKeys, SigningAlg } from '#shared/oauth/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { createProxyWarning } from '#shared/process/proxy-warning.ts'
import { requestContext } from '#shared/process/request-context.ts'
import type { Refusals } from '#shared/refusals.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type Answer, answerUncached, answerUnmatched } from './answer.ts'
import { createAudit } from './audit.ts'
import { createAuthenticate } from './authenticate.ts'
import type { ClientRecords } from './client-records.ts'
import { createGetJwks, createGetMetadata, createGetReadiness, getHealth } from './documents.ts'
import { ClientGone } from './form.ts'
import { createGrantJudge, createRememberingJudge } from './grant-judge.ts'
import { createKeyRing } from './key-ring.ts'
import { countedAudit } from './measured.ts'
import { createPostRevoke } from './post-revoke.ts'
import { createPostToken } from './post-token.ts'
import { Refusal } from './refusal.ts'
import type { Exchange, Handler } from './route.ts'
import type { UsageCounter } from './usage-counter.ts'

export interface AuthServerDependencies {
  settings: {
    issuer: string
    /** The identifier of the API (RFC 8707), which every token is for. */
    resource: string
    trustedProxies: BlockList
    signingAlg: SigningAlg
    keyEncryptionKey: EncryptionKeys
  }
  log: Log
  clock: Clock
  db: Database
  clients: ClientRecords
  revocation: Revocation
  limits: {
    /** Token requests by client. */
    tokens: RateLimit
    /** Token revocations by client. */
    revocations: RateLimit
    /** Failed authentications by address. */
    failures: RateLimit
  }
  usage: UsageCounter
  refusals: Refusals
  /** The stores that the service is running without. */
  degraded: () => string[]
  /** Notes the path of a request that ran, for the event-loop monitor. */
  ran: (path: string) => void
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
  /** Stops background work and stores the last counts. */
  close(): Promise<void>
}

/** The authorization server: every path and method that exists, and what answers it. */
export function createAuthServer(dependencies: AuthServerDependencies): AuthServer {
  const { settings, log, clock, db, clients, revocation, limits, usage, refusals, degraded, ran, metrics } =
    dependencies
  const { issuer, resource, trustedProxies, signingAlg: alg, keyEncryptionKey: encryptionKey } = settings
  const audit = countedAudit(createAudit(log), metrics)
  const keys = createKeyRing({ db, clock, log, alg, encryptionKey })
  const authenticate = createAuthenticate({ clients, revocation, keys, failures: limits.failures })
  const judge = createRememberingJudge(createGrantJudge({ issuer, resource }))
  const getMetadata = createGetMetadata({ issuer, resource })
  const shared = { authenticate, audit, issuer, resource }
  const untrusted = createProxyWarning(log)
  let ready = false

  const routes = new Map<string, Methods>([
    ['/v1/oauth/token', post(createPostToken({ ...shared, limit: limits.tokens, judge, usage, clock }))],
    ['/v1/oauth/revoke', post(createPostRevoke({ ...shared, limit: limits.revocations, revocation, keys }))],
    ['/v1/oauth/jwks', get(createGetJwks(keys))],
    ['/.well-known/oauth-authorization-server', get(getMetadata)],
    ['/.well-known/openid-configuration', get(getMetadata)],
    ['/healthz', get(getHealth)],
    ['/readyz', get(createGetReadiness({ isReady: () => ready, degraded }))],
  ])

  /** @returns undefined when nobody is left to answer. */
  async function answer(exchange: Exchange): Promise<Answer | undefined> {
    const methods = routes.get(exchange.path)
    if (!methods) return answerUnmatched(404)
    const handler = methods.get(exchange.request.method ?? '')
    if (!handler) return answerUnmatched(405, { Allow: [...methods.keys()].join(', ') })
    ran(exchange.path)
    try {
      const given = await handler(exchange)
      if (!(given instanceof Refusal)) return given
      audit.refused(exchange, given)
      noteRefusal(refusals, exchange, given)
      return given.answer
    } catch (error) {
      if (error instanceof ClientGone) return undefined
      audit.failed(exchange, error)
      return answerUncached({ error: 'server_error' }, 500)
    }
  }

  return {
    listener(request, response) {
      const started_ms = performance.now()
      const exchange = exchangeOf(request, trustedProxies, untrusted)
      void answer(exchange).then((given) => {
        if (!given) return
        write(response, given, exchange)
        metrics.answered({
          route: routes.has(exchange.path) ? exchange.path : 'unmatched',
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
      refusals.start()
      ready = true
    },
    drain() {
      ready = false
    },
    async close() {
      ready = false
      keys.close()
      await Promise.all([usage.close(), refusals.close()])
    },
  }
}

type Methods = ReadonlyMap<string, Handler>

const post = (handler: Handler): Methods => new Map([['POST', handler]])

/** HEAD is GET without the body (RFC 9110 §9.3.2); Node leaves the body out. */
const get = (handler: Handler): Methods =>
  new Map([
    ['GET', handler],
    ['HEAD', handler],
  ])

function exchangeOf(
  request: IncomingMessage,
  trustedProxies: BlockList,
  untrusted: (peer: string) => void,
): Exchange {
  const target = request.url ?? ''
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  return { request, context: requestContext(request, trustedProxies, untrusted), path, query }
}

/** For the client's company. Not noted if the stores could not decide, which is nobody's mistake. */
function noteRefusal(
  refusals: Refusals,
  { request, context, path, client }: Exchange,
  refusal: Refusal,
): void {
  const { status } = refusal.answer
  if (!client || status === 503) return
  const { clientId, vendorId } = client.record
  refusals.note({
    clientId,
    vendorId,
    proven: client.proven,
    requestId: context.requestId,
    route: `${request.method} ${path}`,
    status,
    code: refusal.error,
    reason: refusal.reason,
    ...(refusal.about !== undefined && { about: refusal.about }),
  })
}

function write(
  response: ServerResponse,
  { status, body, headers }: Answer,
  { context: { requestId }, rate }: Exchange,
): void {
  response.writeHead(status, {
    ...headers,
    ...(rate && rateLimitHeaders(rate)),
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
  })
  response.end(body)
}
