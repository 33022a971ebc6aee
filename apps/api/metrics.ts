import type { Middleware } from 'koa'
import type { Clock } from '#shared/process/clock.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import { readPublishedRevocations } from '#shared/revocation/state.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { reportEventsRoute } from './analytics/report-events.ts'
import type { ApiState } from './http/state.ts'
import { type Purge, readOverdue } from './stores/purge.ts'
import { countStaleIssuers } from './workload/issuers.ts'

const STORE_WAIT_MS = 2_000
const PURGES_MEASURED_EVERY_MS = 60_000

/** Counts each answer, and the events that were stored according to the answer. */
export function createMeasuringMiddleware(metrics: Metrics): Middleware<ApiState> {
  const help = 'Analytics events that integrators reported, by what became of them'
  const events = metrics.counter('integration_events_total', help, { result: ['accepted', 'duplicate'] })
  return async (ctx, next) => {
    const started_ms = performance.now()
    await next()
    const { method, status } = ctx
    const route = ctx.state.route?.path ?? 'unmatched'
    metrics.observe({ route, method, status, duration_ms: performance.now() - started_ms })
    if (route !== reportEventsRoute.path || status !== 200) return
    const { accepted, duplicates } = ctx.body as { accepted: number; duplicates: number }
    events.inc({ result: 'accepted' }, accepted)
    events.inc({ result: 'duplicate' }, duplicates)
  }
}

/** Counts the issuers whose keys are overdue. Sets nothing while Postgres does not answer. */
export function measureIssuers({ gauge }: Metrics, db: Database, clock: Clock): void {
  const help =
    'Issuers of workloads whose keys could not be fetched for an hour: after a day they are not believed'
  gauge('integration_workload_issuers_failing', { help, over: 'max' }, async (set) => {
    const count = countStaleIssuers(db, clock.now()).catch(() => undefined)
    const failing = await within(STORE_WAIT_MS, count)
    if (failing !== undefined) set(failing)
  })
}

/**
 * Measures what each list takes of the page of revocations. Sets nothing while Postgres does not answer, or
 * access is refused.
 */
export function measurePage({ gauge }: Metrics, db: Database, clock: Clock): void {
  const help = 'Size of the lists on the page of revocations, which each verifier reads every second'
  gauge('integration_revocations_page_bytes', { help, labels: ['list'], over: 'max' }, async (set) => {
    const reading = readPublishedRevocations(db, new Date(clock.now())).catch(() => undefined)
    const lists = await within(STORE_WAIT_MS, reading)
    for (const list of ['clients', 'tokens', 'keys'] as const)
      if (lists) set(Math.ceil((lists[list].length * 4) / 3), { list })
  })
}

/**
 * Measures what should have been deleted, whichever process deletes it. Sets nothing without Postgres. Reads
 * at most once a minute, since rows that are deleted but not yet vacuumed make that slow.
 */
export function measurePurges(
  { gauge }: Metrics,
  { db, clock, purges }: { db: Database; clock: Clock; purges: readonly Purge[] },
): void {
  const read = () => readOverdue(db, { now_ms: clock.now(), purges }).catch(() => undefined)
  let overdue: ReturnType<typeof read> | undefined
  let readAt_ms = 0
  const help = 'How long ago the oldest row that is no longer kept should have been deleted'
  gauge('integration_purge_overdue_seconds', { help, labels: ['kind'], over: 'max' }, async (set) => {
    if (!overdue || performance.now() > readAt_ms + PURGES_MEASURED_EVERY_MS) {
      readAt_ms = performance.now()
      overdue = read()
    }
    for (const [kind, overdue_s] of (await within(STORE_WAIT_MS, overdue)) ?? []) set(overdue_s, { kind })
  })
}
