import Koa from 'koa'
import { createAccessTokens } from '#shared/access-tokens/access-tokens.ts'
import type { SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { Problem, unavailable } from '#shared/problems/problems.ts'
import type { Clock } from '#shared/process/clock.ts'
import { createFairQueue } from '#shared/process/fair-queue.ts'
import type { Log } from '#shared/process/log.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Redis } from '#shared/stores/redis.ts'
import type { ClientUsage } from '#shared/usage/client-usage.ts'
import { createAccessTokenAccess } from './access-tokens/access.ts'
import { createActivityRoutes } from './activity/routes.ts'
import { createAnalyticsRoutes } from './analytics/routes.ts'
import { type CallbackDependencies, createCallbackRoutes } from './callbacks/routes.ts'
import { type FetchKeys, fetchInTurn } from './clients/issuer-keys.ts'
import { createClientRoutes } from './clients/routes.ts'
import type { ApiConfig } from './config.ts'
import type { ApiDocument } from './discovery/openapi/document-shape.ts'
import { createDiscovery, describeRoutes, resourceMetadataUrl } from './discovery/routes.ts'
import type { FoundSecretReports } from './found-secrets/reports.ts'
import { createFoundSecretRoutes } from './found-secrets/routes.ts'
import { createHealthRoutes } from './health.ts'
import { createDeadlineMiddleware } from './http/deadline.ts'
import { createManagerAccess } from './http/manager.ts'
import { createProblemMiddleware } from './http/problem.ts'
import { createRequestMiddleware } from './http/request.ts'
import { type Access, anyone, type Route, routerOf } from './http/route.ts'
import { createUnmatchedMiddleware } from './http/routes.ts'
import type { ApiState } from './http/state.ts'
import { readTarget } from './http/target.ts'
import type { Limits } from './limits.ts'
import { createMeasuringMiddleware } from './metrics.ts'
import { createPeopleRoutes } from './people/routes.ts'
import { createRefusalRoutes } from './refusals/routes.ts'
import { createSessionAccess } from './sessions/access.ts'
import { createAccountNames } from './sessions/account-names.ts'
import { createSessionCookie } from './sessions/cookie.ts'
import { configureOpenid } from './sessions/openid-provider.ts'
import { createPasswordWork } from './sessions/password-check.ts'
import { createSessionRoutes } from './sessions/routes.ts'

/** The stores' own time-outs end most waits before this: one connection and one statement take 8 s at most. */
const REQUEST_DEADLINE_MS = 8_000
/** Requests of people. Each takes about one connection to Postgres, so one company leaves the others most of them. */
const REQUESTS_AT_ONCE_PER_COMPANY = 2
const REQUESTS_WAITING_MAX = 500
const REQUEST_WAIT_MS = 5_000

/** Connections to the Postgres primary, separated by purpose. */
export interface ApiPools {
  /** For revocation rounds and questions, and for readiness. */
  decisions: Database
  /** For requests with access tokens. */
  integrators: Database
  /** For requests with sessions, sign-in, and housekeeping. */
  workspace: Database
}

export interface ApiDependencies {
  config: ApiConfig
  log: Log
  clock: Clock
  pools: ApiPools
  redis: Redis
  revocation: Revocation
  usage: ClientUsage
  signingKeys: SigningKeys
  limits: Limits
  /** Fetches the public keys of a workload's issuer. */
  fetchKeys: FetchKeys
  foundSecrets: FoundSecretReports
  callbacks: Pick<CallbackDependencies, 'resolve' | 'judgeAddress' | 'sender'>
  /** Whether the process is about to end. */
  draining: () => boolean
  /** The stores that the service is running without. */
  degraded: () => string[]
  metrics: Metrics
}

/** The resource API as one Koa application: every middleware and route in the order in which they are tried. */
export function createApi(deps: ApiDependencies): Koa<ApiState> {
  const { config, log, usage } = deps
  const routers = createRouters(deps)

  const app = new Koa<ApiState>()
  app.use(createMeasuringMiddleware(deps.metrics))
  app.use(createRequestMiddleware(log, config.TRUSTED_PROXIES, usage))
  app.use(createProblemMiddleware(config.API_RESOURCE))
  app.use(readTarget)
  app.use(createDeadlineMiddleware(REQUEST_DEADLINE_MS) as Koa.Middleware<ApiState>)
  for (const router of routers) app.use(router.routes() as Koa.Middleware<ApiState>)
  app.use(createUnmatchedMiddleware(routers))
  app.on('error', (error: Error) =>
    log.debug({ event: 'answer.not_sent', error: error.message }, 'an answer could not be sent'),
  )
  return app
}

/** Everything that is served. */
function createRouters(deps: ApiDependencies) {
  const { config, pools, signingKeys, draining, degraded, metrics } = deps
  const routes = createRoutes(deps)
  const discovery = createDiscovery({
    issuer: config.ISSUER,
    apiResource: config.API_RESOURCE,
    routes,
    clock: deps.clock,
    securityContact: config.SECURITY_CONTACT,
  })
  const { decisions: db } = pools
  const health = createHealthRoutes({ db, keysUsable: signingKeys.usable, draining, degraded, metrics })
  return [routerOf(routes), discovery, health]
}

function createRoutes(deps: ApiDependencies): Route[] {
  const access = accessOfPeople(deps)
  return [...integratorRoutes(deps, access), ...workspaceRoutes(deps, access)]
}

/** The OpenAPI document without a running service: only the routes' descriptions are read, so they need no stores. */
export function describeApi(settings: { issuer: string; apiResource: string }): ApiDocument {
  return describeRoutes({ ...settings, routes: createRoutes(withoutStores(settings)) })
}

/** Each method, but HEAD, with its path as Koa's router takes it, such as `GET /v1/vendor/:vendorId/people`. */
export const listPaths = (settings: { issuer: string; apiResource: string }): string[] =>
  createRouters(withoutStores(settings))
    .flatMap(({ stack }) => stack)
    .flatMap(({ methods, path }) =>
      methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path}`),
    )

const withoutStores = ({ issuer, apiResource }: { issuer: string; apiResource: string }) => {
  const config = { ISSUER: issuer, API_RESOURCE: apiResource }
  const metrics = createMetrics({ service: 'api' })
  return { config, metrics, pools: {}, limits: {}, callbacks: {}, signingKeys: {} } as ApiDependencies
}

/** The routes for access tokens, and the workspace's daily figures, which are the same. */
function integratorRoutes(deps: ApiDependencies, { manager }: AccessOfPeople): Route[] {
  const { config, clock, pools, revocation, signingKeys, limits } = deps
  const tokens = createAccessTokens({
    keys: signingKeys,
    issuer: config.ISSUER,
    resource: config.API_RESOURCE,
    resourceMetadata: resourceMetadataUrl(config.API_RESOURCE),
    revocation,
    clock,
  })
  const accessToken = createAccessTokenAccess(tokens, limits.apiPerClient)
  const eventLimit = limits.apiEventsPerClient
  return createAnalyticsRoutes({ db: pools.integrators, clock, manager, accessToken, eventLimit })
}

/** The routes for sessions, and those that begin one. */
function workspaceRoutes(
  deps: ApiDependencies,
  { cookie, session, manager, changer, owner }: AccessOfPeople,
): Route[] {
  const { config, clock, pools, redis, revocation, limits, callbacks, foundSecrets } = deps
  const { workspace: db } = pools
  const { openid } = config
  const builtInAccounts = config.BUILT_IN_ACCOUNTS === 'on'
  const baseUrl = new URL(config.API_RESOURCE).origin
  return [
    ...createSessionRoutes({
      db,
      clock,
      cookie,
      session,
      sessionIdle_ms: idleOf(config),
      passwords: createPasswordWork(),
      accountName: createAccountNames(db),
      guessesPerAddress: limits.sessionGuessesPerAddress,
      openid: openid && configureOpenid(openid, { db, clock, baseUrl }),
      builtInAccounts,
      builtIn: builtInAccess(builtInAccounts),
      baseUrl,
      openidOnce: limits.openidOnce,
      limits: {
        perAccount: limits.signInPerAccount,
        perAddress: limits.signInPerAddress,
        strangersPerAccount: limits.signInStrangersPerAccount,
      },
    }),
    ...createClientRoutes({
      db,
      redis,
      clock,
      revocation,
      manager,
      changer,
      creationsPerCompany: limits.clientCreationsPerCompany,
      fetchKeys: fetchInTurn(deps.fetchKeys),
    }),
    ...createFoundSecretRoutes({ reports: foundSecrets, perAddress: limits.foundSecretsPerAddress }),
    ...createCallbackRoutes({
      db,
      clock,
      manager,
      changer,
      testLimit: limits.callbackTestPerCompany,
      ...callbacks,
    }),
    ...createActivityRoutes({ db, manager }),
    ...createPeopleRoutes({ db, clock, manager, owner, baseUrl, builtInAccounts }),
    ...createRefusalRoutes({ db, redis, clock, manager }),
  ]
}

/** Access to the routes that need a password or set one. */
const builtInAccess = (builtInAccounts: boolean): Access<object> => ({
  async admit(ctx) {
    if (!builtInAccounts)
      throw new Problem('forbidden', 'Sign in with the OpenID provider: there are no passwords here.')
    return anyone.admit(ctx)
  },
  problems: ['forbidden'],
})

const idleOf = ({ SESSION_IDLE_MINUTES }: ApiConfig): number => SESSION_IDLE_MINUTES * 60_000

type AccessOfPeople = ReturnType<typeof accessOfPeople>

function accessOfPeople({ config, clock, pools: { workspace: db }, limits }: ApiDependencies) {
  const cookie = createSessionCookie({ baseUrl: config.API_RESOURCE })
  const session = createSessionAccess({
    db,
    clock,
    cookie,
    sessionIdle_ms: idleOf(config),
    limits: {
      guessesPerAddress: limits.sessionGuessesPerAddress,
      requestsPerSession: limits.apiPerSession,
    },
  })
  const queue = createFairQueue({
    atOnce: db?.client.pool.max ?? 1,
    atOncePerKey: REQUESTS_AT_ONCE_PER_COMPANY,
    waitingMax: REQUESTS_WAITING_MAX,
    wait_ms: REQUEST_WAIT_MS,
    refusal: () => unavailable('Too many requests for this company are waiting. Try again shortly.'),
  })
  const parts = { session, db, queue }
  const changes = limits.changesPerCompany
  return {
    cookie,
    session,
    manager: createManagerAccess(parts),
    /** As manager, for what changes something. */
    changer: createManagerAccess(parts, { changes }),
    owner: createManagerAccess(parts, { roles: ['owner'], changes }),
  }
}
