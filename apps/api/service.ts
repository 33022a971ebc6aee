import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { ROUND_TIMINGS, type RoundTimings } from '#shared/revocation/round-timings.ts'
import { type Reconciling, startReconciling } from '#shared/revocation/start-reconciling.ts'
import { addressLimits } from '#shared/stores/address-limits.ts'
import { checkDatabaseUrl, createPostgres } from '#shared/stores/postgres.ts'
import { rateLimits } from '#shared/stores/rate-limit.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { connectRedis, type RedisConnections } from '#shared/stores/redis-watch.ts'
import { measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { type ApiDependencies, type ApiPools, createApi } from './app.ts'
import { createTestSender } from './callbacks/sender.ts'
import { createFetchKeys } from './clients/issuer-keys.ts'
import type { ApiConfig } from './config.ts'
import { startHousekeeping } from './housekeeping.ts'
import { countedSender, measureIssuers, measureStoreWaits } from './metrics.ts'
import { type AddressRule, createAddressRule } from './outbound/address-verdict.ts'
import { createResolver, type Resolve } from './outbound/resolver.ts'
import { OPENID_TRANSACTION_LIFETIME_S } from './sessions/openid-transaction.ts'

const NAME = 'integration-api'
const DECISIONS_POOL_SIZE = 3

export interface ServiceOptions {
  config: ApiConfig
  clock: Clock
  log: Log
  /** What stands between callbacks, issuers of workloads, and the internet. Default: the system's name servers and the real rules. */
  outside?: {
    resolve?: Resolve
    judgeAddress?: AddressRule
    /** In PEM. */
    certificateAuthority?: string
  }
  revocationTimings?: RoundTimings
  metrics?: Metrics
}

/** One process of the resource API with everything that it holds open, but for the socket that it listens on. */
export function createService({
  config,
  clock,
  log,
  outside = {},
  revocationTimings: timings = ROUND_TIMINGS,
  metrics = createMetrics({ service: 'api' }),
}: ServiceOptions): Service {
  const pools = createPools(config, log)
  const connections = connectRedis(config, { name: NAME, log })
  const { redis, revocationRedis } = connections
  const revocation = createRevocation({
    redis: revocationRedis,
    db: pools.workspace,
    decisions: pools.decisions,
    timings,
    ticked: connections.ticked,
  })
  measurePools(metrics, { ...pools })
  measureRedis(metrics, connections.watches, revocation)
  const endMeasuring = measureStoreWaits(metrics, [pools.decisions, pools.integrators])
  const roundMarked = measureRoundAge(metrics)
  const usage = createClientUsage({ redis, db: pools.workspace, clock, log })
  const signingKeys = createSigningKeys({ url: config.JWKS_URL, clock, log })
  const guards = guardsOf(config, outside)
  const sender = countedSender(createTestSender({ clock, ...guards }), metrics)
  const fetchKeys = createFetchKeys(guards)
  measureIssuers(metrics, pools.workspace, clock)

  let draining = false
  let reconciling: Reconciling | undefined
  const app = createApi({
    settings: appSettings(config),
    log,
    clock,
    pools,
    redis,
    revocation,
    usage,
    signingKeys,
    limits: createLimits({ config, redis, metrics }),
    callbacks: { ...guards, sender },
    fetchKeys,
    draining: () => draining,
    degraded: () => degradedBy(reconciling, connections),
    metrics,
  })
  let endHousekeeping = async () => {}

  return {
    handle: app.callback(),
    async start() {
      await checkDatabaseUrl(pools.decisions, 'integration_api')
      await usage.start()
      // They have only begun to connect; a first round without Redis would be reported as a failure, and the first
      // requests counted by this process alone.
      await connections.ready()
      reconciling = startReconciling({
        redis: revocationRedis,
        db: pools.decisions,
        log,
        timings,
        step(step) {
          if (step === 'marked') roundMarked()
        },
      })
      endHousekeeping = startHousekeeping({
        db: pools.workspace,
        revocation,
        clock,
        log,
        fetchKeys,
        eventRetention_days: config.EVENT_RETENTION_DAYS,
        ...(config.FOUND_SECRETS === 'revoke' && { revokesFound: revocation }),
      })
      await signingKeys.start()
    },
    drain() {
      draining = true
    },
    async stop() {
      await sender.close()
      await usage.stop()
      signingKeys.stop()
      await Promise.all([endHousekeeping(), reconciling?.stop()])
      connections.close()
      endMeasuring()
      await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    },
  }
}

const appSettings = (config: ApiConfig): ApiDependencies['settings'] => ({
  issuer: config.ISSUER,
  apiResource: config.API_RESOURCE,
  trustedProxies: config.TRUSTED_PROXIES,
  openid: config.openid,
  builtInAccounts: config.BUILT_IN_ACCOUNTS === 'on',
  securityContact: config.SECURITY_CONTACT,
  sessionIdle_ms: config.SESSION_IDLE_MINUTES * 60_000,
})

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
  /** By the process's clock; until the first time, its start counts. */
  let markedAt_ms = 0
  const help = 'Time since a process last made Redis trusted'
  gauge('integration_revocation_round_age_seconds', { help, over: 'min' }, (set) =>
    set((performance.now() - markedAt_ms) / 1_000),
  )
  return () => {
    markedAt_ms = performance.now()
  }
}

function createLimits({
  config,
  redis,
  metrics,
}: {
  config: ApiConfig
  redis: Redis
  metrics: Metrics
}): ApiDependencies['limits'] {
  const limit = rateLimits(redis, metrics)
  return {
    apiPerClient: limit('api-client', config.RATE_API_PER_CLIENT),
    apiEventsPerClient: limit('api-events', config.RATE_API_EVENTS_PER_CLIENT),
    signInPerAccount: limit('sign-in-account', config.RATE_SIGN_IN_PER_ACCOUNT),
    signInPerAddress: addressLimits(
      limit,
      ['sign-in-address', 'sign-in-56', 'sign-in-48'],
      config.RATE_SIGN_IN_PER_ADDRESS,
    ),
    signInStrangersPerAccount: limit('sign-in-strangers', config.RATE_SIGN_IN_STRANGERS_PER_ACCOUNT),
    openidOnce: limit('openid-once', { limit: 1, window_s: OPENID_TRANSACTION_LIFETIME_S }),
    sessionGuessesPerAddress: limit('session-guesses', config.RATE_SESSION_GUESSES_PER_ADDRESS),
    apiPerSession: limit('api-session', config.RATE_API_PER_SESSION),
    callbackTestPerCompany: limit('callback-test', config.RATE_CALLBACK_TEST_PER_COMPANY),
    foundSecretsPerAddress: addressLimits(
      limit,
      ['found-secrets', 'found-secrets-56', 'found-secrets-48'],
      config.RATE_FOUND_SECRETS_PER_ADDRESS,
    ),
    changesPerCompany: limit('changes', config.RATE_CHANGES_PER_COMPANY),
    clientCreationsPerCompany: limit('client-creations', config.RATE_CLIENT_CREATIONS_PER_COMPANY),
  }
}

/** What requests to addresses that strangers choose have to pass. */
const guardsOf = (
  { CALLBACK_DENY_RANGES: denyRanges }: ApiConfig,
  {
    resolve = createResolver(),
    judgeAddress = createAddressRule({ denyRanges }),
    certificateAuthority,
  }: NonNullable<ServiceOptions['outside']>,
) => ({ resolve, judgeAddress, certificateAuthority })

/**
 * Pools that share nothing, so that whoever waits in one (for a lock, a slow statement) takes no connection of
 * another. `DATABASE_POOL_SIZE` is their sum: three for decisions, and of the rest at most half for the workspace.
 */
function createPools(
  { DATABASE_URL: url, DATABASE_POOL_SIZE: size, DATABASE_POOLER: pooler }: ApiConfig,
  log: Log,
): ApiPools {
  const activityLog = (entry: object) => log.info({ event: 'activity', ...entry }, 'recorded in the activity')
  const workspace = Math.floor((size - DECISIONS_POOL_SIZE) / 2)
  const pool = (poolSize: number, applicationName: string) =>
    createPostgres({ url, poolSize, applicationName, pooled: pooler === 'transaction', activityLog })
  return {
    decisions: pool(DECISIONS_POOL_SIZE, `${NAME} decisions`),
    workspace: pool(workspace, `${NAME} workspace`),
    integrators: pool(size - DECISIONS_POOL_SIZE - workspace, NAME),
  }
}
