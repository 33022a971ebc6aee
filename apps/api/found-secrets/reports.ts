import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { reportFoundSecrets } from '../clients/changes.ts'
import type { FoundClient, FoundSecret } from '../clients/records.ts'
import { createFairQueue } from '../http/fair-queue.ts'

/** A look-up takes milliseconds, and its connection comes from the pool that people use. */
const AT_ONCE = 1
/** About 4 MB if each has 100 secrets with a long URL. */
const WAITING_MAX = 100
const WAIT_MAX_MS = 10_000
const STOP_MAX_MS = 5_000

export interface FoundSecretReport {
  secrets: readonly FoundSecret[]
  clientAddress: string
  /** Of the request. */
  log: Log
}

export type FoundSecretReports = ReturnType<typeof createFoundSecretReports>

class QueueFull extends Error {}

/**
 * Marks the clients of reported secrets after the report was answered, so that neither the answer nor its
 * time can tell whether a secret is in use. Addresses take turns. When too many reports wait, those of the
 * address that sent most are dropped: keeping them would let strangers fill the memory, and the sender
 * already has its answer.
 */
export function createFoundSecretReports({ db, metrics }: { db: Database; metrics: Metrics }) {
  const marked = metrics.counter(
    'integration_found_secrets_total',
    'Clients whose secret was reported as found for the first time',
  )
  const lost = metrics.counter(
    'integration_found_secret_reports_lost_total',
    'Reports of found secrets that were answered and could not be looked up',
    { reason: ['busy', 'failed'] },
  )
  const runQueued = createFairQueue({
    atOnce: AT_ONCE,
    waitingMax: WAITING_MAX,
    wait_ms: WAIT_MAX_MS,
    refusal: () => new QueueFull(),
  })
  const pending = new Set<Promise<void>>()

  async function lookUp(report: FoundSecretReport): Promise<void> {
    try {
      const found = await runQueued(addressSubject(report.clientAddress, 48), async () => {
        // The answer is written in this turn of the event loop.
        await nextTurn()
        return reportFoundSecrets(db, report.secrets)
      })
      for (const client of found) noteFound(report, client)
    } catch (error) {
      noteLost(report, error)
    }
  }

  function noteFound({ clientAddress, log }: FoundSecretReport, client: FoundClient): void {
    marked.inc()
    const { clientId, vendorId, source } = client
    // The rest of the place is a stranger's text, which may name someone.
    const host = source?.includes('/') ? source.split('/')[0] : undefined
    const found = { clientId, vendorId, host, clientAddress }
    log.warn({ event: 'secret.found', ...found }, 'a client secret was reported as found')
  }

  function noteLost({ clientAddress, log, secrets }: FoundSecretReport, error: unknown): void {
    const reason = error instanceof QueueFull ? 'busy' : 'failed'
    lost.inc({ reason })
    const event = { event: 'secret_report.lost', reason, secrets: secrets.length, clientAddress } as const
    if (reason === 'busy') log.warn(event, 'too many reports of found secrets')
    else log.error({ ...event, error: (error as Error).message }, 'found secrets could not be looked up')
  }

  return {
    /** Returns at once and never throws. A report that is lost is logged and counted. */
    add(report: FoundSecretReport): void {
      const looking = lookUp(report).finally(() => pending.delete(looking))
      pending.add(looking)
    },
    /** Resolves when no report is left, after 5 s at most. Call it before the database is closed. */
    async stop(): Promise<void> {
      await within(STOP_MAX_MS, Promise.all(pending))
    },
  }
}
