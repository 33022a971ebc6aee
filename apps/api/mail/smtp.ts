import type { NodemailerError } from 'nodemailer'
import { classifyFailure, type FetchFailure } from '../guarded-fetch/failures.ts'
import type { MailSettings } from './settings.ts'

/* The way to the SMTP server. Nodemailer's own log would have addresses and texts, so it has none. */

/**
 * For DNS, connection, TLS and greeting together; for each reply, since servers check a message before they
 * accept it; for a mail in all, so that it ends before another process may send it; for `check` in all.
 */
export const SMTP_TIMINGS = { connect_ms: 10_000, reply_ms: 30_000, mail_ms: 60_000, check_ms: 20_000 }
/** A connection that waits for the next mail. */
const IDLE_MAX_MS = 10_000
/** Connections, and so mails at the same time. */
export const SMTP_CONCURRENCY = 2

export interface SmtpMessage {
  /** Also the left side of its Message-ID. */
  mailId: string
  to: string
  subject: string
  text: string
  html?: string
}

/** Opens no connection yet. Loads Nodemailer, which takes 15 MB, only for whoever mails. */
export async function createSmtpClient({ server, from }: MailSettings, timings = SMTP_TIMINGS) {
  const { createTransport } = await import('nodemailer')
  const { default: Connection } = await import('nodemailer/lib/smtp-connection')
  const auth = server.login && { user: server.login.user, pass: server.login.password }
  const options = {
    host: server.host,
    port: server.port,
    secure: server.tls === 'from-start',
    requireTLS: server.tls === 'starttls',
    ignoreTLS: server.tls === 'none',
    tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true },
    // Some servers refuse a name that is none of the sender's.
    name: from.domain,
    dnsTimeout: timings.connect_ms,
    connectionTimeout: timings.connect_ms,
    greetingTimeout: timings.connect_ms,
    socketTimeout: timings.reply_ms,
    logger: false,
  } as const
  const safety = { disableFileAccess: true, disableUrlAccess: true }
  const transport = createTransport({
    ...options,
    ...safety,
    pool: true,
    maxConnections: SMTP_CONCURRENCY,
    // Only a message of which nothing was sent is queued again.
    maxRequeues: 1,
    idleTimeout: IDLE_MAX_MS,
    auth,
    // Without this, a server that offers no login would get the mails without one.
    forceAuth: auth !== undefined,
  })
  return {
    /** Resolves when the server has accepted the mail. Rejects with Nodemailer's error. */
    async send({ mailId, to, ...content }: SmtpMessage, stopping?: AbortSignal): Promise<void> {
      if (!PLAIN_ADDRESS.test(to)) throw Object.assign(new Error('no plain address'), NOT_PLAIN)
      await transport.sendMail({
        ...content,
        ...safety,
        from: { name: from.name, address: from.address },
        to: { name: '', address: to },
        envelope: { from: from.address, to: [{ name: '', address: to }] },
        messageId: `<${mailId}@${from.domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        signal: limitBy(timings.mail_ms, stopping),
      })
    },
    /** Connects and logs in. Rejects with Nodemailer's error, or one like it. */
    async check(stopping?: AbortSignal): Promise<void> {
      const connection = new Connection(options)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const settle = (error?: Error | null) => (error ? reject(error) : resolve())
      const late = () => reject(Object.assign(new Error('No answer.'), { code: 'ETIMEDOUT' }))
      limitBy(timings.check_ms, stopping).addEventListener('abort', late)
      connection.on('error', reject)
      connection.on('end', () => reject(new Error('The connection was closed.')))
      connection.connect((error) =>
        error || !auth ? settle(error) : connection.login({ ...auth, credentials: auth }, settle),
      )
      await promise.finally(() => connection.close())
    },
    close: () => transport.close(),
  }
}

const limitBy = (limit_ms: number, stopping?: AbortSignal): AbortSignal =>
  AbortSignal.any([AbortSignal.timeout(limit_ms), ...(stopping ? [stopping] : [])])

/** Whether the server refused this one mail, and may accept others. */
export const isRefusal = ({ code, responseCode }: NodemailerError): boolean =>
  (code === 'EENVELOPE' || code === 'EMESSAGE') && responseCode !== 421

/** Anything else could be read as several addresses, as a group, or as a comment. */
const PLAIN_ADDRESS = /^[^\s"(),:;<>@[\\\]]+@[^\s"(),:;<>@[\\\]]+$/
const NOT_PLAIN = { code: 'EENVELOPE', responseCode: 501, response: '501 5.1.3 Not a plain address' }

/** RFC 3463: mailbox, host or address does not exist. RFC 7505: the host takes no mail. */
const NO_SUCH_ADDRESS = /^5\d\d[ -]5\.1\.(?:1|2|3|10)\b/

export const isAddressGone = ({ response = '' }: NodemailerError): boolean => NO_SUCH_ADDRESS.test(response)

const TLS_FAULTS: Partial<Record<FetchFailure, string>> = {
  not_tls: 'the port of SMTP_URL does not begin with TLS: smtp:// is for port 587, smtps:// for 465',
  tls_version: 'the mail server has no TLS 1.2 or newer',
}
const SYSTEM_FAULTS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens at the host and port of SMTP_URL, or it refuses connections from here',
  EHOSTUNREACH: 'the host of SMTP_URL cannot be reached from here',
  ENETUNREACH: 'the host of SMTP_URL cannot be reached from here',
}

/** Returns why a mail could not be sent, in a clause for the operator. It has no text of the server's. */
export function describeSmtpFailure(error: NodemailerError): string {
  const { code, command, responseCode, message } = error
  const systemCode = error.originalCode ?? code ?? ''
  const reply = responseCode ? ` (${responseCode})` : ''
  if (code === 'EDNS') return 'the host of SMTP_URL was not found'
  if (code === 'EAUTH') return `the mail server refuses the user or the password of SMTP_URL${reply}`
  if (code === 'ETIMEDOUT' || code === 'EABORT')
    return 'no mail server answers in time at the host and port of SMTP_URL'
  if (command === 'STARTTLS' && responseCode)
    return `the mail server does not offer STARTTLS${reply}: try smtps:// with port 465`
  const tlsError = Object.assign(new Error(message), { code: systemCode })
  const failure = classifyFailure(tlsError, { connected: true, secured: false })
  const [, fault] = /^certificate_(.*)/.exec(failure) ?? []
  if (fault)
    return (
      'the certificate of the mail server is refused (NODE_EXTRA_CA_CERTS can name its authority): ' +
      fault.replaceAll('_', ' ')
    )
  const sentence = TLS_FAULTS[failure] ?? SYSTEM_FAULTS[systemCode]
  if (sentence) return sentence
  return responseCode ? `the mail server refuses${reply}` : 'the mail server closed the connection'
}
