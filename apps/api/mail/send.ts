import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodemailerError } from 'nodemailer'
import type { Log } from '#shared/process/log.ts'
import type { Metrics } from '#shared/process/metrics.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type FindAddressee, findAccount, findManager } from './addressee.ts'
import { IS_URGENT, type MailKind } from './kinds.ts'
import { claimMails, closeMail, type OutgoingMail, postponeMail, readLongestWait } from './outbox.ts'
import type { MailSettings } from './settings.ts'
import {
  createSmtpClient,
  describeSmtpFailure,
  isAddressGone,
  isRefusal,
  SMTP_CONCURRENCY,
  type SMTP_TIMINGS,
  type SmtpMessage,
} from './smtp.ts'
import { renderMail } from './texts.ts'

/** Three mails a second at most: each takes about 6 ms of a core, of which requests may lose 2 %. */
const PAIR_EVERY_MS = 650
/** While the server fails. With a connection that is not answered, a try takes less than a minute. */
const PAUSE_S = 30
const RETRY_FIRST_S = 60
const RETRY_MAX_S = 3_600
/** After this long, a mail that could not be sent is given up. */
const TRIED_FOR_S = 2 * 86_400
/** For the mails that are being sent when the process ends. */
const STOP_MAX_MS = 5_000
const STORE_WAIT_MS = 2_000

interface MailSenderOptions {
  settings: MailSettings
  db: Database
  log: Log
  metrics: Metrics
  baseUrl: string
  /** For the kinds whose addressees live in rooms above this one. */
  findAddressees: Partial<Record<MailKind, FindAddressee>>
  timings?: typeof SMTP_TIMINGS
}

export type MailSender = ReturnType<typeof createMailSender>

/** Sends what is due. Of several processes one sends at a time. */
export function createMailSender(options: MailSenderOptions) {
  const { db, log, metrics, baseUrl } = options
  const sender = randomUUID()
  const stopping = new AbortController()
  const smtp = watchSmtp(options, stopping.signal)
  const finders = { password_changed: findAccount, ...options.findAddressees }
  const counters = createMailCounters(metrics)
  measureWaiting(metrics, db)
  let round: Promise<void> = Promise.resolve()

  /** Sends a claimed mail and closes it, or puts it back. Returns false if no other can be sent now. */
  async function deliver(mail: OutgoingMail): Promise<boolean> {
    const { mailId, kind, userId, detail } = mail
    if (mail.age_s > TRIED_FOR_S) return giveUp(mail)
    const addressee = await (finders[kind] ?? findManager)(db, mail)
    if (addressee) {
      const content = renderMail(kind, detail, { ...addressee, baseUrl })
      const error = await smtp.send({ mailId, to: addressee.email, ...content })
      if (error) return handleFailure(mail, error)
      counters.sent.inc({ kind })
      log.info({ event: 'mail.sent', mailId, kind, userId }, 'mail sent')
    }
    await closeMail(db, mailId, { isSent: addressee !== undefined })
    return true
  }

  /** A mail that cannot be written holds up no other. */
  const deliverOrPostpone = (mail: OutgoingMail): Promise<boolean> =>
    deliver(mail).catch(async (error) => {
      await tryLater(mail)
      throw error
    })

  async function handleFailure(mail: OutgoingMail, error: NodemailerError): Promise<boolean> {
    const isStopping = stopping.signal.aborted
    if (isStopping || (!isRefusal(error) && !(await smtp.check(error)))) {
      await postponeMail(db, mail, { delay_s: isStopping ? 0 : PAUSE_S, pausesAll: true })
      return false
    }
    if (isAddressGone(error)) return giveUp(mail, error.responseCode)
    await tryLater(mail)
    return true
  }

  const tryLater = (mail: OutgoingMail) =>
    postponeMail(db, mail, {
      delay_s: Math.min(RETRY_FIRST_S * 2 ** (mail.attempts - 1), RETRY_MAX_S),
      pausesAll: false,
    })

  async function giveUp({ mailId, kind, userId }: OutgoingMail, reply?: number): Promise<boolean> {
    await closeMail(db, mailId, { isSent: false })
    counters.givenUp.inc({ kind })
    log.warn({ event: 'mail.given_up', mailId, kind, userId, reply }, 'a mail was given up')
    return true
  }

  /** Begins with one mail, as a probe. Ends when none is due, or the server fails. */
  async function sendAll(isEnding: () => boolean): Promise<void> {
    for (let limit = 1; !isEnding(); limit = SMTP_CONCURRENCY) {
      const next = sleep(PAIR_EVERY_MS)
      const mails = await claimMails(db, { sender, limit })
      if (mails.length === 0) return
      const outcomes = await Promise.allSettled(mails.map(deliverOrPostpone))
      const failures = outcomes.filter((outcome) => outcome.status === 'rejected')
      if (failures.length > 0) throw new AggregateError(failures.map(({ reason }) => reason))
      if (outcomes.some((outcome) => outcome.status === 'fulfilled' && !outcome.value)) return
      await next
    }
  }

  return {
    /** Connects to the server and logs why it cannot be used. */
    check: () => smtp.check(),
    /** Sends until none is due, or the process ends. @throws AggregateError what failed at the same time. */
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
      await smtp.close()
    },
  }
}

/** The SMTP server, of which the log says once that it fails, until it works again. */
function watchSmtp({ settings, log, timings }: MailSenderOptions, stopping: AbortSignal) {
  const client = createSmtpClient(settings, timings)
  let problem: string | undefined

  function report(current: string | undefined): void {
    if (current === problem || stopping.aborted) return
    problem = current
    if (current) log.warn({ event: 'mail.unusable' }, `mail cannot be sent: ${current}`)
    else log.info({ event: 'mail.usable' }, 'mail can be sent again')
  }

  return {
    /** Returns the error if the server does not accept the mail. */
    async send(message: SmtpMessage): Promise<NodemailerError | undefined> {
      const error = await failureOf((await client).send(message, stopping))
      if (!error) report(undefined)
      return error
    },
    /** Returns whether, after this failure of a mail, the server would take another. Else it logs why not. */
    async check(error?: NodemailerError): Promise<boolean> {
      // A password is not tried twice, since providers lock accounts.
      const failure = error?.code === 'EAUTH' ? error : await failureOf((await client).check(stopping))
      if (failure) report(describeSmtpFailure(failure))
      return !failure
    },
    close: async () => (await client).close(),
  }
}

const failureOf = (promise: Promise<void>): Promise<NodemailerError | undefined> =>
  promise.then(
    () => undefined,
    (error) => error,
  )

function createMailCounters(metrics: Metrics) {
  const kinds = { kind: Object.keys(IS_URGENT) }
  const help = 'Mails that were not sent for two days, or whose address does not exist'
  return {
    sent: metrics.counter('integration_mails_sent_total', 'Mails that the SMTP server accepted', kinds),
    givenUp: metrics.counter('integration_mails_given_up_total', help, kinds),
  }
}

/** Sets nothing while Postgres does not answer. */
function measureWaiting({ gauge }: Metrics, db: Database): void {
  const help = 'How long the oldest mail has waited to be sent'
  gauge('integration_mail_oldest_waiting_seconds', { help, over: 'max' }, async (set) => {
    const oldest_s = await within(STORE_WAIT_MS, readLongestWait(db)).catch(() => undefined)
    if (oldest_s !== undefined) set(oldest_s)
  })
}
