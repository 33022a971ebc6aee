import Koa from 'koa'
import { createAccessTokens } from '#shared/access-tokens/access-tokens.ts'
import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { createContextReader } from '#shared/http/request-context.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { within } from '#shared/process/within.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import { checkDatabaseUrl, createPostgres, type PostgresTimeouts } from '#shared/stores/postgres.ts'
import { connectRedis, type RedisConnections } from '#shared/stores/redis-watch.ts'
import { measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { createCompanyCalendars } from './analytics/company-calendar.ts'
import { createDailyReads } from './analytics/daily-analytics.ts'
import { createEventPartitions } from './analytics/event-partitions.ts'
import { createEventTurns } from './analytics/report-events.ts'
import { createLookupTurns } from './callbacks/save-callback.ts'
import { createTestSender } from './callbacks/sender.ts'
import { noticeExpiringClients } from './clients/notice-expiring-clients.ts'
import { noticeFailingClients } from './clients/notice-failing-clients.ts'
import type { ApiConfig } from './config.ts'
import { createDiscovery, resourceMetadataUrl } from './discovery/routes.ts'
import { createFoundSecretReports } from './found-secrets/reports.ts'
import { revokeFoundClients } from './found-secrets/revoke-found-clients.ts'
import { createInternet, type Internet } from './guarded-fetch/internet.ts'
import { createHealthRoutes } from './health.ts'
import { createDeadlineMiddleware } from './http/deadline.ts'
import { createFairQueue } from './http/fair-queue.ts'
import { createProblemMiddleware } from './http/problem.ts'
import { createRequestMiddleware } from './http/request.ts'
import { createRouter, createUnmatchedMiddleware } from './http/router.ts'
import type { ApiState } from './http/state.ts'
import { type Job, startJobs } from './jobs.ts'
import { createLimits } from './limits.ts'
import { createMailSender, type MailSender } from './mail/send.ts'
import type { MailSettings } from './mail/settings.ts'
import { createMeasuringMiddleware, measureIssuers, measurePage, measurePurges } from './metrics.ts'
import { createInvitee } from './people/invite-person.ts'
import { unavailable } from './problems/problems.ts'
import { listPurges } from './purges.ts'
import { REVOKED_TOKEN_PURGE, type Reconciling, startReconciling } from './revocation/start-reconciling.ts'
import { noticeQuietClients } from './rotation/notice-quiet-clients.ts'
import { ROUTES } from './routes.ts'
import { createSessionCookie } from './sessions/cookie.ts'
import { createPasswordQueue } from './sessions/password-queue.ts'
import { createAccountNames } from './sessions/prove-account.ts'
import { createResetAddressees } from './sessions/request-password-reset.ts'
import { configureOpenid } from './sign-in-openid/provider.ts'
import { type Purge, runPurges } from './stores/purge.ts'
import { recordClientRequest } from './usage/record-request.ts'
import { createFetchKeys, queueFetches } from './workload/fetch-keys.ts'
import { noticeFailingIssuers } from './workload/notice-failing-issuers.ts'
import { refreshIssuers } from './workload/refresh-issuers.ts'

/* The resource API from top to bottom: its stores, the services on them, the routes, and the jobs. */

const NAME = 'integration-api'
const DECISIONS_POOL_SIZE = 3
const FIRST_ROUND_MS = 2_000
/** Waiting for a connection and one statement may take as long; this ends requests that run several. */
const REQUEST_DEADLINE_MS = 8_000
/** For routes that wait for more than stores. A proxy or the workspace gives up after 30 s. */
const OWN_DEADLINE_MS = 25_000
/** Each takes about one connection of a pool, so one company leaves most of them to others. */
const TURNS = { concurrencyPerKey: 2, waitingMax: 500 }
const TURN_MAX_MS = 5_000
const MINUTE_MS = 60_000
const NOTICE_EVERY_MS = 5 * MINUTE_MS
const PURGE_EVERY_MS = 10 * MINUTE_MS

type RequestTimeout = 'request_ms' | 'ownRequest_ms'
type OwnTimeout = RequestTimeout | 'commandTimeout_ms' | 'turn_ms' | 'fetchKeys_ms' | 'revision_ms'
/**
 * How long a request, one whose route has its own deadline, a store, a turn among a company's requests, a
 * fetch of signing keys, and the read of a revision of a company's days may take.
 */
export type ApiTimeouts = Partial<PostgresTimeouts & Record<OwnTimeout, number>>

export interface ServiceOptions {
  config: ApiConfig
  clock: Clock
  log: Log
  /** How callbacks and issuers are reached. Default: the system's name servers and the real rules. */
  internet?: Partial<Internet>
  revocationTimings?: Timings
  timeouts?: ApiTimeouts
  metrics?: Metrics
}

/** One process of the resource API with everything that it holds open, except its listening socket. */
export function createService({
  config,
  clock,
  log,
  internet = {},
  revocationTimings: timings = PRODUCTION_TIMINGS,
  timeouts = {},
  metrics = createMetrics({ service: 'api' }),
}: ServiceOptions): Service {
  const pools = createPools(config, log, timeouts)
  const connections = connectRedis(config, { name: NAME, log, ...timeouts })
  measurePools(metrics, { ...pools })
  let reconciling: Reconciling | undefined
  const isClockRight = () => reconciling?.isClockRight() ?? false
  const services = createServices({
    config,
    clock,
    log,
    internet,
    timings,
    timeouts,
    metrics,
    pools,
    connections,
    isClockRight,
  })
  measureRedis(metrics, connections.watches, services.revocation)
  measureIssuers(metrics, services.db, clock)
  measurePage(metrics, services.db, clock)
  const mailSender = config.mail && createSender(config.mail, services, metrics)
  const purges = listPurges(config, log)
  measurePurges(metrics, { db: services.db, clock, purges: [...purges, REVOKED_TOKEN_PURGE] })
  const markRound = measureRoundAge(metrics)

  let draining = false
  let stopJobs = async () => {}
  const health = createHealthRoutes({
    db: pools.decisions,
    keysUsable: services.signingKeys.usable,
    isClockRight,
    draining: () => draining,
    degraded: () => degradedBy(reconciling, connections),
    metrics,
  })
  return {
    handle: createApp({ config, clock, log, timeouts, metrics, services, health }).callback(),
    async start() {
      await checkDatabaseUrl(pools.decisions, 'integration_api')
      await services.usage.start()
      // Else the first round would be reported as failed, and the first requests counted in memory only.
      await connections.ready()
      reconciling = startReconciling({
        redis: connections.revocationRedis,
        db: pools.decisions,
        log,
        timings,
        onStep(step) {
          if (step === 'mark') markRound()
        },
      })
      stopJobs = startJobs(listJobs(services, { config, purges, mailSender }), log)
      void mailSender?.check()
      await services.signingKeys.start()
      // Until the clock has been compared, access tokens are refused.
      await within(FIRST_ROUND_MS, reconciling.firstRound)
    },
    drain() {
      draining = true
    },
    async stop() {
      await Promise.all([services.testSender.close(), services.foundSecrets.stop()])
      await services.usage.stop()
      services.signingKeys.stop()
      await Promise.all([stopJobs(), mailSender?.stop(), reconciling?.stop()])
      connections.close()
      await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    },
  }
}

/* Stores */

/**
 * Pools that share nothing, so that whoever waits in one (for a lock, a slow statement) takes no connection
 * of another. `DATABASE_POOL_SIZE` is their sum: three for decisions, and of the rest at most half for the
 * workspace.
 */
function createPools(
  { DATABASE_URL: url, DATABASE_POOL_SIZE: size, DATABASE_POOLER: pooler }: ApiConfig,
  log: Log,
  timeouts: ApiTimeouts,
) {
  const activityLog = (entry: object) => log.info({ event: 'activity', ...entry }, 'recorded in the activity')
  const workspace = Math.floor((size - DECISIONS_POOL_SIZE) / 2)
  const pool = (poolSize: number, applicationName: string) =>
    createPostgres({
      url,
      poolSize,
      applicationName,
      pooled: pooler === 'transaction',
      activityLog,
      ...timeouts,
    })
  return {
    /** For revocation rounds and questions, and for readiness. */
    decisions: pool(DECISIONS_POOL_SIZE, `${NAME} decisions`),
    /** For requests with sessions, sign-in, and jobs. */
    workspace: pool(workspace, `${NAME} workspace`),
    /** For requests with access tokens. */
    integrators: pool(size - DECISIONS_POOL_SIZE - workspace, NAME),
  }
}

/** Returns the dependencies that are down or untrusted. */
function degradedBy(reconciling: Reconciling | undefined, connections: RedisConnections): string[] {
  const round = reconciling?.latest()?.outcome
  return [
    ...(round === 'failed' ? ['redis'] : connections.degraded()),
    ...(round === 'clocks_apart' ? ['clocks'] : []),
  ]
}

/** Returns a function to call each time this process has made Redis trusted. */
function measureRoundAge({ gauge }: Metrics): () => void {
  /** By performance.now(). Begins as the start of the process. */
  let markedAt_ms = 0
  const help = 'Time since a process last made Redis trusted'
  gauge('integration_revocation_round_age_seconds', { help, over: 'min' }, (set) =>
    set((performance.now() - markedAt_ms) / 1_000),
  )
  return () => {
    markedAt_ms = performance.now()
  }
}

/* Services: what routes and jobs take by name. */

interface Foundation extends Required<Omit<ServiceOptions, 'revocationTimings'>> {
  timings: Timings
  pools: ReturnType<typeof createPools>
  connections: RedisConnections
  isClockRight: () => boolean
}

type Services = ReturnType<typeof createServices>

function createServices(foundation: Foundation) {
  const { config, clock, log, timings, timeouts, metrics, pools, connections } = foundation
  const { rateRedis: redis, revocationRedis, reportTick } = connections
  const { workspace: db, integrators: integratorsDb, decisions } = pools
  const { openid, API_RESOURCE: resource } = config
  const baseUrl = new URL(resource).origin
  const revocation = createRevocation({ redis: revocationRedis, db, decisions, timings, onTick: reportTick })
  const keySet = { url: config.JWKS_URL, timeout_ms: timeouts.fetchKeys_ms }
  const signingKeys = createSigningKeys({ ...keySet, clock, log })
  const internet = createInternet(config.CALLBACK_DENY_RANGES, foundation.internet)
  const fetchKeys = createFetchKeys(internet)
  const createTurns = (concurrency: number) =>
    createFairQueue({
      ...TURNS,
      wait_ms: timeouts.turn_ms ?? TURN_MAX_MS,
      concurrency,
      refusal: () => unavailable('Too many requests for this company are waiting. Try again shortly.'),
    })
  return {
    db,
    integratorsDb,
    redis,
    clock,
    log,
    revocation,
    isClockRight: foundation.isClockRight,
    usage: createClientUsage({ redis, db, clock, log }),
    ...createLimits(config, redis, metrics),

    signingKeys,
    accessTokens: createAccessTokens({
      keys: signingKeys,
      issuer: config.ISSUER,
      resource,
      resourceMetadata: resourceMetadataUrl(resource),
      revocation,
      clock,
    }),
    findCompanyCalendar: createCompanyCalendars({ db: integratorsDb, clock }),
    dailyReads: createDailyReads({
      db: integratorsDb,
      turns: createTurns(integratorsDb.client.pool.max),
      revision_ms: timeouts.revision_ms,
    }),
    eventTurns: createEventTurns(),

    baseUrl,
    cookie: createSessionCookie({ baseUrl: resource }),
    sessionIdle_ms: config.SESSION_IDLE_MINUTES * MINUTE_MS,
    builtInAccounts: config.BUILT_IN_ACCOUNTS === 'on',
    mailIsOn: config.mail !== undefined,
    passwords: createPasswordQueue(),
    accountName: createAccountNames(db),
    openid: openid && configureOpenid(openid, { db, clock, baseUrl }),
    companyTurns: createTurns(db.client.pool.max),
    personTurns: createTurns(Number.POSITIVE_INFINITY),

    ...internet,
    lookupTurns: createLookupTurns(),
    testSender: createTestSender({ clock, ...internet }),
    fetchKeys,
    fetchKeysInTurn: queueFetches(fetchKeys),
    foundSecrets: createFoundSecretReports({ db, metrics, willBeRevoked: config.FOUND_SECRETS === 'revoke' }),
  }
}

function createSender(settings: MailSettings, services: Services, metrics: Metrics): MailSender {
  const findAddressees = { invitation: createInvitee(services), ...createResetAddressees(services) }
  return createMailSender({ ...services, settings, metrics, findAddressees })
}

/* Routes */

interface AppParts extends Pick<Foundation, 'config' | 'clock' | 'log' | 'timeouts' | 'metrics'> {
  services: Services
  health: ReturnType<typeof createHealthRoutes>
}

/** The Koa application: every middleware and route, in the order in which they are tried. */
function createApp(parts: AppParts): Koa<ApiState> {
  const { config, clock, log, timeouts, metrics, services, health } = parts
  const discovery = createDiscovery({
    issuer: config.ISSUER,
    apiResource: config.API_RESOURCE,
    routes: ROUTES,
    clock,
    securityContact: config.SECURITY_CONTACT,
  })
  const served = ROUTES.map((route) => ({ ...route, handler: route.serve(services) }))
  const routers = [createRouter(served), discovery.router, health]
  const app = new Koa<ApiState>()
  app.use(createMeasuringMiddleware(metrics))
  app.use(
    createRequestMiddleware(log, createContextReader(config, log), (ctx) =>
      recordClientRequest(services.usage, ctx),
    ),
  )
  app.use(createProblemMiddleware(config.API_RESOURCE))
  const { request_ms = REQUEST_DEADLINE_MS, ownRequest_ms = OWN_DEADLINE_MS } = timeouts
  app.use(createDeadlineMiddleware(request_ms, ownRequest_ms) as Koa.Middleware<ApiState>)
  for (const router of routers) app.use(router.routes() as Koa.Middleware<ApiState>)
  app.use(discovery.missingPage as Koa.Middleware<ApiState>)
  app.use(createUnmatchedMiddleware(routers))
  app.on('error', (error: Error) =>
    log.debug({ event: 'answer.not_sent', error: error.message }, 'an answer could not be sent'),
  )
  return app
}

/* Jobs */

/** What any process does beside the requests: it removes what has expired, fetches keys, and mails. */
function listJobs(
  services: Services,
  { config, purges, mailSender }: { config: ApiConfig; purges: Purge[]; mailSender: MailSender | undefined },
): Job[] {
  const { db, clock, log, revocation, fetchKeys } = services
  const revokeFound: Job = {
    every_ms: 2_000,
    steps: {
      'revoking clients whose secret was found': (isEnding) => revokeFoundClients(db, revocation, isEnding),
    },
  }
  const writeMails: Job = {
    every_ms: NOTICE_EVERY_MS,
    runAtStart: true,
    steps: {
      'mailing about expiring clients': (isEnding) => noticeExpiringClients({ ...services, isEnding }),
      'mailing about replaced clients': (isEnding) => noticeQuietClients({ ...services, isEnding }),
      'mailing about keys of issuers': (isEnding) => noticeFailingIssuers({ ...services, isEnding }),
      // The last, since a Redis that does not answer costs it a timeout for each company.
      'mailing about failing clients': (isEnding) => noticeFailingClients({ ...services, isEnding }),
    },
  }
  return [
    ...(config.FOUND_SECRETS === 'revoke' ? [revokeFound] : []),
    ...(mailSender ? [{ every_ms: 2_000, steps: { 'sending mail': mailSender.sendDue } }, writeMails] : []),
    {
      every_ms: MINUTE_MS,
      steps: {
        'fetching keys of issuers': (isEnding) => refreshIssuers({ db, clock, log, fetchKeys, isEnding }),
      },
    },
    {
      every_ms: PURGE_EVERY_MS,
      runAtStart: true,
      steps: {
        'creating event partitions': () => prepareEvents(services),
        'deleting what is no longer kept': (isEnding) =>
          runPurges({ db, clock, log, purges, every_ms: PURGE_EVERY_MS }, isEnding),
      },
    },
  ]
}

async function prepareEvents({ db, log }: Services): Promise<void> {
  const created = await createEventPartitions(db)
  if (created.length > 0) log.info({ event: 'housekeeping.done', created }, 'event partitions created')
}
