import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import { areApart, clockOffset_ms } from '#shared/revocation/clocks.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import { deleteStep, logPurgeFailure, purgeByFunction } from '../stores/purge.ts'
import { createReconciler, type ReconcilerOptions, type Round } from './round.ts'

const PURGE_EVERY_MS = 600_000
/** After each round until none is left: few, since rounds must not be late. */
const PURGE_ROWS = 1_000
/** Purged by the rounds, and only after one that has just compared the clocks. */
export const REVOKED_TOKEN_PURGE = purgeByFunction({
  kind: 'revoked_tokens',
  oldest: 'select min(expires_at) from revoked_tokens',
  kept_ms: 3_600_000,
  call: (limit) => `purge_expired_revoked_tokens(${limit})`,
})
/** The share by which a pause varies, so that processes do not run their rounds at the same time. */
const JITTER = 0.2

const NEW_SERVER = 'a new server is trusted in a few seconds'

const isFarOff = (ahead_ms: number) => areApart({ postgres_ms: ahead_ms, redis_ms: 0 })

/** How each outcome is logged when it differs from the one before. */
const LOG_LINES = {
  marked: { level: 'info', event: 'redis.trusted', text: 'Redis is trusted' },
  replaced: { level: 'info', event: 'redis.new', text: NEW_SERVER },
  waiting: { level: 'info', event: 'redis.new', text: NEW_SERVER },
  clocks_apart: { level: 'error', event: 'clocks.apart', text: 'wall clocks differ by over two minutes' },
  clock_wrong: { level: 'error', event: 'clock.wrong', text: 'no access tokens: this clock is minutes off' },
  fenced: { level: 'error', event: 'database.restored', text: 'an operator must confirm the database' },
  failed: { level: 'warn', event: 'redis.not_trusted', text: 'Redis cannot be vouched for' },
} as const satisfies Record<Exclude<Round['outcome'], 'fresh'> | 'clock_wrong', object>

interface StartReconcilingOptions extends Omit<ReconcilerOptions, 'stopping' | 'onComparison' | 'onRead'> {
  log: Log
  purgeEvery_ms?: number
}

export type Reconciling = ReturnType<typeof startReconciling>

/**
 * Reconciles about every second until it is stopped, one round at a time, and purges revocations of long
 * expired tokens every ten minutes. A failure is logged once, when it begins; meanwhile Postgres decides.
 */
export function startReconciling(options: StartReconcilingOptions) {
  const { db, log, clock = systemClock, timings = PRODUCTION_TIMINGS } = options
  const { purgeEvery_ms = PURGE_EVERY_MS } = options
  const stopping = new AbortController()
  const reconciler = createReconciler({
    ...options,
    stopping: stopping.signal,
    onComparison: reportComparison,
    onRead: auditRevocations(log),
  })
  let lastLogged = ''
  let isComparing = false
  let latest: Round | undefined
  let isClockRight = false
  const firstRound = Promise.withResolvers<void>()
  let purgeAt_ms = performance.now() + purgeEvery_ms * Math.random()

  function reportComparison(): void {
    if (isComparing) return
    isComparing = true
    lastLogged = ''
    const text = 'revocation: access is refused until a promoted standby has been compared with Redis'
    log.warn({ event: 'database.promoted' }, text)
  }

  /** A round that has not compared the clocks keeps the verdict, unless Postgres alone agrees with ours. */
  async function judgeClock(round: Round): Promise<void> {
    if (round.outcome === 'failed' || round.outcome === 'fenced')
      isClockRight ||= await agreesWithPostgres().catch(() => false)
    else
      isClockRight = round.outcome !== 'clocks_apart' || ![round.postgres_ms, round.redis_ms].every(isFarOff)
  }

  async function agreesWithPostgres(): Promise<boolean> {
    const before_ms = clock.now()
    const { rows } = await db.raw('select extract(epoch from clock_timestamp()) * 1000 as now_ms')
    const times = { before_ms, after_ms: clock.now() }
    return !isFarOff(clockOffset_ms(Number(rows[0].now_ms), times))
  }

  function report(round: Round): void {
    const { outcome, ...fields } = round
    if (outcome !== 'failed') isComparing = false
    if (outcome === 'fresh') return
    const { level, event, text } =
      LOG_LINES[outcome === 'clocks_apart' && !isClockRight ? 'clock_wrong' : outcome]
    const cause = outcome === 'failed' ? round.reason : event
    if (cause === lastLogged) return
    lastLogged = cause
    log[level]({ event, ...fields }, `revocation: ${text}`)
  }

  /** A round that marked has just compared the clocks. */
  async function purge(): Promise<void> {
    if (latest?.outcome !== 'marked' || performance.now() < purgeAt_ms) return
    const step = { db, now_ms: clock.now() }
    const removed = await deleteStep(step, REVOKED_TOKEN_PURGE, PURGE_ROWS).catch((error) => {
      logPurgeFailure(log, REVOKED_TOKEN_PURGE, error)
      return 0
    })
    // There may be more, or another process is at it.
    const isDone = removed !== undefined && removed < PURGE_ROWS
    purgeAt_ms = performance.now() + (isDone ? purgeEvery_ms : 0)
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      latest = await reconciler.round()
      await judgeClock(latest)
      firstRound.resolve()
      report(latest)
      await purge()
      const pause_ms = timings.round_ms * (1 - JITTER + 2 * JITTER * Math.random())
      await sleep(pause_ms, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  const running = run()
  return {
    /** Returns the result of the latest round; undefined before the first. */
    latest: () => latest,
    /** Whether this process's clock agreed with a store's when they were last compared; false before. */
    isClockRight: () => isClockRight,
    /** Resolves when the first round has judged the clock. */
    firstRound: firstRound.promise,
    /** Resolves when the current round has ended, within seconds. */
    stop(): Promise<void> {
      stopping.abort()
      return running
    },
  }
}

/**
 * Logs the clients and keys that this process had not yet seen revoked, whoever revoked them: after a restore
 * of the database, an operator can revoke them again from the log.
 */
function auditRevocations(log: Log): (revoked: { clients: string[]; keys: string[] }) => void {
  let logged = new Set<string>()
  return ({ clients, keys }) => {
    for (const clientId of clients)
      if (!logged.has(clientId)) log.info({ event: 'client.revoked', clientId }, 'revoked')
    for (const kid of keys) if (!logged.has(kid)) log.info({ event: 'signing_key.revoked', kid }, 'revoked')
    logged = new Set([...clients, ...keys])
  }
}
