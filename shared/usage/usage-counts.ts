import { randomUUID } from 'node:crypto'
import type { Clock } from '#shared/process/clock.ts'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'

const USES_PER_BATCH = 1_000
/** Uses that wait while Postgres cannot be written, about 30 MB. Later ones are dropped. */
const WAITING_MAX = 100_000
/** How often an idle process reports. apps/api/usage/missing-uses.ts has when it counts as gone. */
const REPORT_EVERY_MS = 15_000

/** A token with its scopes, as granted, or a refused request without any. */
type Use = { clientId: string; at_ms: number; scope?: string; address?: string }

/**
 * Counts tokens and refused requests in Postgres, each once: a batch whose answer was lost is sent again with
 * its number, by which Postgres recognizes it. Dropped counts and crashes show there: the API tells
 * companies from when on usage is complete.
 */
export function createUsageCounts({ db, clock, log }: { db: Database; clock: Clock; log: Log }) {
  const writer = randomUUID()
  const queue: Use[] = []
  /** What Postgres has not confirmed. It is sent again as it is, so that no number is left out. */
  let batch: Use[] | undefined
  let number = 0
  let isLossy = false
  let storedAt_ms = Number.NEGATIVE_INFINITY
  let storing: Promise<void> | undefined

  function enqueue(use: Omit<Use, 'at_ms'>): void {
    if (queue.length < WAITING_MAX) queue.push({ ...use, at_ms: clock.now() })
    else if (!isLossy) {
      isLossy = true
      log.warn({ event: 'usage.lost' }, 'uses of clients are dropped: too many wait for Postgres')
    }
  }

  /** Counts an issued token. Synchronous; never throws. @param scope as granted, separated by spaces. */
  const countToken = (clientId: string, scope: string, address: string): void =>
    enqueue({ clientId, scope, address: addressSubject(address) })

  /** Counts a refused request. Synchronous; never throws. */
  const countRefusal = (clientId: string): void => enqueue({ clientId })

  async function storeBatch({ ends = false } = {}): Promise<void> {
    const wasLossy = isLossy
    isLossy = false
    const values = [writer, number, JSON.stringify(batch ?? []), wasLossy, ends]
    await db.raw('select record_usage(?, ?, ?, ?, ?)', values).catch((error) => {
      isLossy ||= wasLossy
      throw error
    })
    batch = undefined
    storedAt_ms = performance.now()
  }

  /** Also announces this process in Postgres, by its first report. @throws if it cannot be written. */
  async function storeQueue(): Promise<void> {
    for (;;) {
      if (!batch) {
        const isDue = performance.now() - storedAt_ms > REPORT_EVERY_MS
        if (queue.length === 0 && !isLossy && !isDue) break
        batch = queue.splice(0, USES_PER_BATCH)
        number += 1
      }
      await storeBatch()
    }
  }

  /** Stores what waits. Never rejects: what Postgres does not take now waits for the next time. */
  function flush(): Promise<void> {
    storing ??= storeQueue()
      .catch(() => {})
      .finally(() => {
        storing = undefined
      })
    return storing
  }

  async function stop(): Promise<void> {
    // A flush that is under way may lack the latest uses.
    await flush()
    await flush()
    if (batch || queue.length > 0) return
    number += 1
    await storeBatch({ ends: true }).catch(() => {})
  }

  return { countToken, countRefusal, announce: storeQueue, flush, stop }
}
