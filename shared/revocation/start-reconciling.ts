import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#shared/process/log.ts'
import { PURGE_BATCH, purgeExpiredTokens } from './recent.ts'
import { createReconciler, type ReconcilerOptions, type Round } from './reconcile.ts'
import { ROUND_TIMINGS } from './round-timings.ts'

const PURGE_EVERY_MS = 600_000
/** Rounds of different processes must not fall into step. */
const JITTER = 0.2

const NEW_SERVER = {
  level: 'info',
  event: 'redis.new',
  text: 'a new server is trusted in a few seconds',
} as const

/** How each outcome is logged when it is news. */
const NEWS = {
  marked: { level: 'info', event: 'redis.trusted', text: 'Redis is trusted' },
  replaced: NEW_SERVER,
  waiting: NEW_SERVER,
  clocks_apart: { level: 'error', event: 'clocks.apart', text: 'wall clocks differ by over two minutes' },
  fenced: { level: 'error', event: 'database.restored', text: 'an operator must confirm the database' },
  failed: { level: 'warn', event: 'redis.not_trusted', text: 'Redis cannot be vouched for' },
} as const satisfies Record<Exclude<Round['outcome'], 'fresh'>, object>

export interface StartReconcilingOptions
  extends Omit<ReconcilerOptions, 'stopping' | 'comparing' | 'learned'> {
  log: Log
  purgeEvery_ms?: number
}

export interface Reconciling {
  /** The result of the latest round; undefined before the first. */
  latest(): Round | undefined
  /** Resolves when the current round has ended, within seconds. */
  stop(): Promise<void>
}

/**
 * Reconciles about every second until it is stopped, one round at a time, and now and then purges the revocations
 * of tokens long expired. A failure is logged once, when it begins; meanwhile Postgres decides.
 */
export function startReconciling(options: StartReconcilingOptions): Reconciling {
  const { db, log, timings = ROUND_TIMINGS, purgeEvery_ms = PURGE_EVERY_MS } = options
  const stopping = new AbortController()
  const reconciler = createReconciler({
    ...options,
    stopping: stopping.signal,
    comparing: reportComparison,
    learned: auditRevocations(log),
  })
  let reported = ''
  let comparing = false
  let latest: Round | undefined
  let purgeAt_ms = performance.now() + purgeEvery_ms * Math.random()

  function reportComparison(): void {
    if (comparing) return
    comparing = true
    reported = ''
    const text = 'revocation: access is refused until a promoted standby has been compared with Redis'
    log.warn({ event: 'database.promoted' }, text)
  }

  function report(round: Round): void {
    const { outcome, ...fields } = round
    if (outcome !== 'failed') comparing = false
    if (outcome === 'fresh') return
    const { level, event, text } = NEWS[outcome]
    const news = outcome === 'failed' ? round.reason : event
    if (news === reported) return
    reported = news
    log[level]({ event, ...fields }, `revocation: ${text}`)
  }

  /** A round that marked has just compared the clocks. */
  async function purge(): Promise<void> {
    if (latest?.outcome !== 'marked' || performance.now() < purgeAt_ms) return
    const removed = await purgeExpiredTokens(db).catch(() => 0)
    // A full batch means that there is more.
    purgeAt_ms = performance.now() + (removed < PURGE_BATCH ? purgeEvery_ms : 0)
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      latest = await reconciler.round()
      report(latest)
      await purge()
      const pause_ms = timings.round_ms * (1 - JITTER + 2 * JITTER * Math.random())
      await sleep(pause_ms, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  const running = run()
  return {
    latest: () => latest,
    stop() {
      stopping.abort()
      return running
    },
  }
}

/**
 * Logs the clients and keys that this process had not yet seen revoked, whoever revoked them: after the database was
 * restored to an earlier moment, an operator can revoke them again from the log.
 */
function auditRevocations(log: Log): (revoked: { clients: string[]; keys: string[] }) => void {
  let logged = new Set<string>()
  return ({ clients, keys }) => {
    const news = [
      ...clients.map((clientId) => ({ event: 'client.revoked' as const, clientId })),
      ...keys.map((kid) => ({ event: 'signing_key.revoked' as const, kid })),
    ].filter((line) => !logged.has('kid' in line ? line.kid : line.clientId))
    if (news.length === 0) return
    for (const line of news) log.info(line, 'revoked')
    logged = new Set([...clients, ...keys])
  }
}
