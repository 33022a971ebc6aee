import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createDelivery, type DeliveryOptions } from './deliver.ts'
import { IS_URGENT, type MailKind } from './kinds.ts'
import { claimMails, readWaitingMails } from './outbox.ts'
import { SMTP_CONCURRENCY } from './smtp.ts'

/** Three mails a second at most: each takes about 6 ms of a core, of which requests may lose 2 %. */
const PAIR_EVERY_MS = 650
/** For the mails that are being sent when the process ends. */
const STOP_MAX_MS = 5_000
const STORE_WAIT_MS = 2_000

export type MailSender = ReturnType<typeof createMailSender>

/** Sends what is due. Of several processes one sends at a time. */
export function createMailSender({
  metrics,
  ...options
}: Omit<DeliveryOptions, 'count' | 'stopping'> & { metrics: Metrics }) {
  const { db } = options
  const sender = randomUUID()
  const stopping = new AbortController()
  measureWaiting(metrics, db)
  const { deliver, check, close } = createDelivery({
    ...options,
    count: createMailCounters(metrics),
    stopping: stopping.signal,
  })
  let round: Promise<void> = Promise.resolve()

  /** Begins with one mail, as a probe. Ends when none is due, or the server fails. */
  async function sendAll(isEnding: () => boolean): Promise<void> {
    for (let limit = 1; !isEnding(); limit = SMTP_CONCURRENCY) {
      const next = sleep(PAIR_EVERY_MS)
      const mails = await claimMails(db, { sender, limit })
      if (mails.length === 0) return
      const outcomes = await Promise.allSettled(mails.map(deliver))
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') throw outcome.reason
        if (outcome.value === 'server_failed') return
      }
      await next
    }
  }

  return {
    /** Connects to the server and logs why it cannot be used. Never rejects. */
    check,
    /** Sends until none is due, or the process ends. @throws the error of the database. */
    sendDue(isEnding: () => boolean): Promise<void> {
      round = sendAll(isEnding)
      return round
    },
    /** Call it when no further round begins. A mail that the server does not accept in 5 s is put back. */
    async stop(): Promise<void> {
      const ended = round.catch(() => {})
      await within(STOP_MAX_MS, ended)
      stopping.abort()
      await ended
      await close()
    },
  }
}

function createMailCounters(metrics: Metrics): DeliveryOptions['count'] {
  const kinds = { kind: Object.keys(IS_URGENT) }
  const sent = metrics.counter('integration_mails_sent_total', 'Mails that the SMTP server accepted', kinds)
  const help = 'Mails that were not sent for two days, or whose address does not exist'
  const givenUp = metrics.counter('integration_mails_given_up_total', help, kinds)
  return (outcome: 'sent' | 'given_up', kind: MailKind) => (outcome === 'sent' ? sent : givenUp).inc({ kind })
}

/** Sets nothing while Postgres does not answer. */
function measureWaiting({ gauge }: Metrics, db: Database): void {
  const read = () =>
    within(
      STORE_WAIT_MS,
      readWaitingMails(db).catch(() => undefined),
    )
  gauge('integration_mails_waiting', { help: 'Mails that wait to be sent', over: 'max' }, async (set) => {
    const mails = await read()
    if (mails) set(mails.waiting)
  })
  const help = 'How long the oldest mail has waited to be sent'
  gauge('integration_mail_oldest_waiting_seconds', { help, over: 'max' }, async (set) => {
    const mails = await read()
    if (mails) set(mails.oldest_s)
  })
}
