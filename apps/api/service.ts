import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { createMetrics, type Metrics } from '#shared/process/metrics.ts'
import type { Service } from '#shared/process/service-process.ts'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { type Reconciling, startReconciling } from '#shared/revocation/round.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import { checkDatabaseUrl, createPostgres } from '#shared/stores/postgres.ts'
import { connectRedis, type RedisConnections } from '#shared/stores/redis-watch.ts'
import { measurePools, measureRedis } from '#shared/stores/store-metrics.ts'
import { createClientUsage } from '#shared/usage/client-usage.ts'
import { type ApiPools, createApi } from './app.ts'
import { createTestSender } from './callbacks/sender.ts'
import { createFetchKeys } from './clients/issuer-keys.ts'
import type { ApiConfig } from './config.ts'
import { createFoundSecretReports } from './found-secrets/reports.ts'
import { startHousekeeping } from './housekeeping.ts'
import { createLimits } from './limits.ts'
import { measureIssuers } from './metrics.ts'
import { type AddressRule, createAddressRule } from './outbound/address-verdict.ts'
import { createResolver, type Resolve } from './outbound/resolver.ts'

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
  revocationTimings?: Timings
  metrics?: Metrics
}

/** One process of the resource API with everything that it holds open, but for the socket that it listens on. */
export function createService({
  config,
  clock,
  log,
  outside = {},
  revocationTimings: timings = PRODUCTION_TIMINGS,
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
  const roundMarked = measureRoundAge(metrics)
  const usage = createClientUsage({ redis, db: pools.workspace, clock, log })
  const signingKeys = createSigningKeys({ url: config.JWKS_URL, clock, log })
  const guards = guardsOf(config, outside)
  const sender = createTestSender({ clock, ...guards })
  const fetchKeys = createFetchKeys(guards)
  const foundSecrets = createFoundSecretReports({ db: pools.workspace, metrics })
  measureIssuers(metrics, pools.workspace, clock)

  let draining = false
  let reconciling: Reconciling | undefined
  const app = createApi({
    config,
    log,
    clock,
    pools,
    redis,
    revocation,
    usage,
    signingKeys,
    limits: createLimits(config, redis, metrics),
    foundSecrets,
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
      await Promise.all([sender.close(), foundSecrets.stop()])
      await usage.stop()
      signingKeys.stop()
      await Promise.all([endHousekeeping(), reconciling?.stop()])
      connections.close()
      await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
    },
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
