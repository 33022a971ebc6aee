import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { recordActivity } from '../accounts/activity.ts'
import { type FoundClient, type FoundSecret, markFoundSecrets } from '../clients/records.ts'
import { createFairQueue } from '../http/fair-queue.ts'
import { mailManagers } from '../mail/outbox.ts'
import { isUnavailable } from '../stores/postgres-errors.ts'

/** A look-up takes milliseconds, and uses a connection of the pool for people. */
const CONCURRENCY = 1
/** About 4 MB if each has 100 secrets with a long URL. */
const WAITING_MAX = 100
/** Waiting in the queue, or for a database that does not answer. */
const PENDING_MAX = 2 * WAITING_MAX
/** Long enough for the database to fail over. */
const RETRY_FOR_MS = 5 * 60_000
const RETRY_EVERY_MS = 2_000
const STOP_MAX_MS = 5_000

export interface FoundSecretReport {
  secrets: readonly FoundSecret[]
  clientAddress: string
  /** The request's own log. */
  log: Log
}

export type FoundSecretReports = ReturnType<typeof createFoundSecretReports>

interface FoundSecretNeeds {
  db: Database
  metrics: Metrics
  /** Whether the service revokes what it finds. */
  willBeRevoked: boolean
}

class QueueFull extends Error {}
class Stopped extends Error {}

/**
 * Marks the clients of reported secrets after the report was answered, so that neither the answer nor its
 * time reveals whether a secret is in use. Addresses take turns. When too many reports wait, those of the
 * address that sent most are dropped, so that strangers cannot fill the memory. A look-up is repeated while
 * the database does not answer, since the sender will not repeat an accepted report.
 */
export function createFoundSecretReports({ db, metrics, willBeRevoked }: FoundSecretNeeds) {
  const marked = metrics.counter(
    'integration_found_secrets_total',
    'Clients whose secret was reported as found for the first time',
  )
  const lost = metrics.counter(
    'integration_found_secret_reports_lost_total',
    'Reports of found secrets that were answered and could not be looked up',
    { reason: ['busy', 'failed', 'stopped'] },
  )
  const ended = new AbortController()
  const runQueued = createFairQueue({
    concurrency: CONCURRENCY,
    waitingMax: WAITING_MAX,
    wait_ms: RETRY_FOR_MS,
    signal: ended.signal,
    refusal: () => (ended.signal.aborted ? new Stopped() : new QueueFull()),
  })
  const pending = new Set<Promise<void>>()
  const stopping = new AbortController()

  async function lookUp(report: FoundSecretReport): Promise<void> {
    try {
      if (pending.size >= PENDING_MAX) throw new QueueFull()
      for (const client of await markWithRetries(report)) logFound(report, client)
    } catch (error) {
      logLost(report, error)
    }
  }

  async function markWithRetries({ clientAddress, secrets }: FoundSecretReport): Promise<FoundClient[]> {
    const end_ms = performance.now() + RETRY_FOR_MS
    for (;;)
      try {
        return await runQueued(addressSubject(clientAddress, 48), async () => {
          // The answer is written in this turn of the event loop.
          await nextTurn()
          return markClients(db, { secrets, willBeRevoked })
        })
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > end_ms) throw error
        await sleep(RETRY_EVERY_MS, undefined, { signal: stopping.signal }).catch(() => {
          throw new Stopped()
        })
      }
  }

  function logFound({ clientAddress, log }: FoundSecretReport, client: FoundClient): void {
    marked.inc()
    const { clientId, vendorId, source } = client
    // The path is a stranger's text, which may name a person.
    const host = source?.includes('/') ? source.split('/')[0] : undefined
    const event = { event: 'secret.found', clientId, vendorId, host, clientAddress } as const
    log.warn(event, 'a client secret was reported as found')
  }

  function logLost({ clientAddress, log, secrets }: FoundSecretReport, error: unknown): void {
    const reason = error instanceof QueueFull ? 'busy' : error instanceof Stopped ? 'stopped' : 'failed'
    lost.inc({ reason })
    const event = { event: 'secret_report.lost', reason, secrets: secrets.length, clientAddress } as const
    if (reason === 'busy') log.warn(event, 'too many reports of found secrets')
    else if (reason === 'stopped') log.error(event, 'stopped before found secrets could be looked up')
    else log.error({ ...event, error: (error as Error).message }, 'found secrets could not be looked up')
  }

  return {
    /** Returns immediately and never throws. A lost report is logged and counted. */
    add(report: FoundSecretReport): void {
      const lookup = lookUp(report).finally(() => pending.delete(lookup))
      pending.add(lookup)
    },
    /**
     * Resolves when no report is left, after 5 s at most. Those that still wait then, or wait for the
     * database, are lost. Call it before the database is closed.
     */
    async stop(): Promise<void> {
      stopping.abort()
      await within(STOP_MAX_MS, Promise.all(pending))
      ended.abort()
    },
  }
}

/** Marks the clients that have these secrets, with activity and mails. Returns those not marked before. */
function markClients(
  db: Database,
  { secrets, willBeRevoked }: { secrets: readonly FoundSecret[]; willBeRevoked: boolean },
): Promise<FoundClient[]> {
  return db.transaction(async (transaction) => {
    const clients = await markFoundSecrets(transaction, secrets)
    for (const { vendorId, clientId, name, source } of clients)
      await recordActivity(transaction, { vendorId, by: null }, 'client.secret_found', clientId, {
        name,
        source,
      })
    const notices = clients.map(({ vendorId, clientId, name, foundAt }) => ({
      vendorId,
      topic: clientId,
      detail: { client: { clientId, name }, foundAt: foundAt.toISOString(), willBeRevoked },
    }))
    await mailManagers(transaction, 'secret_found', notices)
    return clients
  })
}
