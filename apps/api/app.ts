import type { BlockList } from 'node:net'
import Koa from 'koa'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { createForgeryLimit } from './access-tokens/forgery-limit.ts'
import { createAccessTokenMiddleware } from './access-tokens/middleware.ts'
import { rememberVerified } from './access-tokens/remembered.ts'
import type { SigningKeys } from './access-tokens/signing-keys.ts'
import { createTokenVerification } from './access-tokens/verify.ts'
import { createActivityRoutes } from './activity/routes.ts'
import { createAnalyticsRoutes } from './analytics/routes.ts'
import { type CallbackDependencies, createCallbackRoutes } from './callbacks/routes.ts'
import { createClientRoutes } from './clients/routes.ts'
import { createDiscoveryRoutes, resourceMetadataUrl } from './discovery/routes.ts'
import { createHealthRoutes } from './health.ts'
import { createManagerMiddleware } from './http/manager.ts'
import { createProblemMiddleware } from './http/problem.ts'
import { createRequestMiddleware } from './http/request.ts'
import { createUnmatchedMiddleware } from './http/routes.ts'
import type { ApiRouter, ApiState } from './http/state.ts'
import { createMeasuringMiddleware } from './measured.ts'
import { createSessionMiddleware } from './sessions/middleware.ts'
import { createSessionRoutes } from './sessions/routes.ts'

export interface ApiDependencies {
  settings: { issuer: string; apiResource: string; trustedProxies: BlockList }
  log: Log
  clock: Clock
  db: Database
  redis: Redis
  revocation: Revocation
  signingKeys: SigningKeys
  limits: {
    apiPerClient: RateLimit
    apiForgedPerAddress: RateLimit
    signInPerAccount: RateLimit
    signInPerAddress: RateLimit
    callbackTestPerCompany: RateLimit
  }
  callbacks: Pick<CallbackDependencies, 'resolve' | 'judgeAddress' | 'sender'>
  /** Whether the process is about to end. */
  draining: () => boolean
  /** The stores that are refused or gone, and done without. */
  degraded: () => string[]
  metrics: Metrics
}

/** The resource API as one Koa application: every middleware and route in the order in which they are tried. */
export function createApi(deps: ApiDependencies): Koa<ApiState> {
  const { settings, log, clock, db, redis, revocation, limits, callbacks, draining, degraded, metrics } = deps
  const { issuer, apiResource, trustedProxies } = settings
  const { signingKeys } = deps

  const session = createSessionMiddleware({ db, clock })
  const manager = createManagerMiddleware({ session, db })
  const verification = createTokenVerification({
    keys: signingKeys,
    issuer,
    audience: apiResource,
    clock,
    forgeries: createForgeryLimit({ rateLimit: limits.apiForgedPerAddress, log, clock }),
  })
  const accessToken = createAccessTokenMiddleware({
    verify: rememberVerified({ verify: verification, keys: signingKeys, clock }),
    revocation,
    rateLimit: limits.apiPerClient,
    apiResource,
    resourceMetadata: resourceMetadataUrl(apiResource),
  })

  const signInLimits = { perAccount: limits.signInPerAccount, perAddress: limits.signInPerAddress }
  const routers: ApiRouter[] = [
    createAnalyticsRoutes({ db, clock, manager, accessToken }),
    createSessionRoutes({ db, clock, session, limits: signInLimits }),
    createClientRoutes({ db, redis, clock, revocation, manager }),
    createCallbackRoutes({ db, clock, manager, testLimit: limits.callbackTestPerCompany, ...callbacks }),
    createActivityRoutes({ db, manager }),
  ]
  routers.push(createDiscoveryRoutes({ issuer, apiResource, routers }))
  routers.push(createHealthRoutes({ db, keysUsable: signingKeys.usable, draining, degraded }))

  const app = new Koa<ApiState>()
  app.use(createMeasuringMiddleware(metrics))
  app.use(createRequestMiddleware({ log, trustedProxies }))
  app.use(createProblemMiddleware({ apiResource }))
  for (const router of routers) app.use(router.routes() as Koa.Middleware<ApiState>)
  app.use(createUnmatchedMiddleware(routers))
  app.on('error', (error: Error) => log.debug({ error: error.message }, 'an answer could not be sent'))
  return app
}
