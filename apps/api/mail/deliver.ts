import type { NodemailerError } from 'nodemailer'
import type { Log } from '#shared/process/log.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type Addressee, type FindAddressee, findAccount, findManager } from './addressee.ts'
import type { MailKind } from './kinds.ts'
import { closeMail, type OutgoingMail, postponeMail, returnMail, TRIED_FOR_S } from './outbox.ts'
import type { MailSettings } from './settings.ts'
import {
  createSmtpClient,
  describeSmtpFailure,
  isAddressGone,
  isRefusal,
  type SMTP_TIMINGS,
  type SmtpClient,
} from './smtp.ts'
import { type MailReader, renderMail } from './texts.ts'

/** While the server fails. With a connection that is not answered, a try takes less than a minute. */
const PAUSE_S = 30
const RETRY_FIRST_S = 60
const RETRY_MAX_S = 3_600

export interface DeliveryOptions {
  settings: MailSettings
  db: Database
  log: Log
  baseUrl: string
  /** For the kinds whose addressees live in rooms above this one. */
  findAddressees: Partial<Record<MailKind, FindAddressee>>
  count: (outcome: 'sent' | 'given_up', kind: MailKind) => void
  /** Aborted: mails that are being sent are put back. */
  stopping: AbortSignal
  timings?: typeof SMTP_TIMINGS
}

/** `server_failed`: no other mail could be sent now either. */
type Outcome = 'done' | 'server_failed'

/** Returns a function that sends a claimed mail and closes it, or puts it back. */
export function createDelivery(options: DeliveryOptions) {
  const { db, log, baseUrl, count, stopping } = options
  const smtp = createWatchedSmtp(options)
  const startedAt_ms = performance.now()
  const finders = { password_changed: findAccount, ...options.findAddressees }

  /** Rejects if the database fails. Then the mail is sent again when its claim has lasted. */
  async function deliver(mail: OutgoingMail): Promise<Outcome> {
    const { mailId, kind, userId, detail } = mail
    if (mail.age_s > TRIED_FOR_S) return dropOld(mail)
    const addressee = await (finders[kind] ?? findManager)(db, mail)
    const isSent = addressee !== undefined
    if (addressee && kind !== 'password_reset_request') {
      const content = renderMail(kind, detail, toReader(mail, addressee, baseUrl))
      const error = await smtp.send({ mailId, to: addressee.email, ...content })
      if (error) return handleFailure(mail, error)
      count('sent', kind)
      log.info({ event: 'mail.sent', mailId, kind, userId }, 'mail sent')
    }
    await closeMail(db, mailId, { isSent })
    return 'done'
  }

  /** A mail that is too old and was never tried is from a time without SMTP_URL. */
  async function dropOld(mail: OutgoingMail): Promise<Outcome> {
    const uptime_s = (performance.now() - startedAt_ms) / 1_000
    const isFromBefore = mail.attempts === 1 && mail.age_s - uptime_s > TRIED_FOR_S
    await closeMail(db, mail.mailId, { isSent: false })
    if (!isFromBefore) giveUp(mail)
    return 'done'
  }

  async function handleFailure(mail: OutgoingMail, error: NodemailerError): Promise<Outcome> {
    const { mailId, attempts } = mail
    if (stopping.aborted || (!isRefusal(error) && (await smtp.isDown(error)))) {
      await returnMail(db, { mailId, pause_s: stopping.aborted ? 0 : PAUSE_S })
      return 'server_failed'
    }
    const delay_s = Math.min(RETRY_FIRST_S * 2 ** (attempts - 1), RETRY_MAX_S)
    const isGone = isAddressGone(error)
    if (isGone) await closeMail(db, mailId, { isSent: false })
    if (isGone || !(await postponeMail(db, { mailId, delay_s }))) giveUp(mail, error.responseCode)
    return 'done'
  }

  function giveUp({ mailId, kind, userId }: OutgoingMail, reply?: number): void {
    count('given_up', kind)
    log.warn({ event: 'mail.given_up', mailId, kind, userId, reply }, 'a mail was given up')
  }

  return { deliver, check: smtp.check, close: smtp.close }
}

/** The SMTP server, of which the log says once that it fails, until it works again. */
function createWatchedSmtp({ settings, log, stopping, timings }: DeliveryOptions) {
  let loading: Promise<SmtpClient> | undefined
  let problem: string | undefined

  function load(): Promise<SmtpClient> {
    loading ??= createSmtpClient(settings, timings)
    return loading
  }

  function report(current: string | undefined): void {
    if (current === problem || stopping.aborted) return
    problem = current
    if (current) log.warn({ event: 'mail.unusable' }, `mail cannot be sent: ${current}`)
    else log.info({ event: 'mail.usable' }, 'mail can be sent again')
  }

  return {
    /** Returns the error if the server does not accept the mail. */
    async send(message: Parameters<SmtpClient['send']>[0]): Promise<NodemailerError | undefined> {
      const client = await load()
      return client.send(message, stopping).then(
        () => report(undefined),
        (error) => error,
      )
    },
    /** Whether, after this failure of a mail, the server would not take another either. */
    async isDown(error: NodemailerError): Promise<boolean> {
      const client = await load()
      // A password is not tried twice, since providers lock accounts.
      const failure = error.code === 'EAUTH' ? error : await client.check(stopping).catch((reason) => reason)
      if (failure) report(describeSmtpFailure(failure))
      return failure !== undefined
    },
    async check(): Promise<void> {
      const client = await load()
      await client.check(stopping).catch((error) => report(describeSmtpFailure(error)))
    },
    close: async () => (await loading)?.close(),
  }
}

function toReader({ vendorId }: OutgoingMail, addressee: Addressee, baseUrl: string): MailReader {
  const { companyName: name, timezone, role, link: url, expiresAt, invitedBy, companies } = addressee
  return {
    baseUrl,
    company: vendorId && name && timezone && role ? { vendorId, name, timezone, role } : null,
    ...(url && expiresAt && { credential: { url, expiresAt } }),
    ...(invitedBy && { invitedBy }),
    ...(companies && { companies }),
  }
}
