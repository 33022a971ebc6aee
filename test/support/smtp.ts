import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type AddressObject, simpleParser } from 'mailparser'
import { SMTPServer } from 'smtp-server'
import { createCertificate } from './certificates.ts'
import { eventually } from './eventually.ts'
import { authority } from './receivers.ts'

/** The steps of a mail at which the server can fail. */
export type SmtpStep = 'greeting' | 'login' | 'sender' | 'recipient' | 'message'
/** `drop` ends the connection, `hang` says nothing more, `drip` replies without end. Else it is a reply. */
export type SmtpFailure = 'drop' | 'hang' | 'drip' | `${4 | 5}${number} ${string}`

export interface SmtpOptions {
  /** Default: from the start (`smtps`). */
  tls?: 'from-start' | 'starttls' | 'none'
  /** Default: `mailer` with the password `p@ss/word`. */
  login?: { user: string; password: string } | 'none'
  /** The names in its certificate. */
  names?: string[]
  issuer?: ReturnType<typeof createCertificate>
}

export type TestSmtp = Awaited<ReturnType<typeof startSmtp>>
export type ArrivedMail = Awaited<ReturnType<typeof parseMail>>

const DRIP_EVERY_MS = 100

/** A real SMTP server on loopback, certified by `authority` (see `trustAuthority`). Fails as `fail` says. */
export async function startSmtp(options: SmtpOptions = {}) {
  const { tls = 'from-start', names = ['localhost', '127.0.0.1'], issuer = authority } = options
  const { login = { user: 'mailer', password: 'p@ss/word' } } = options
  const { keyPem, pem } = createCertificate({ commonName: names[0] as string, names, issuer })
  let server: SMTPServer | undefined
  const smtp = {
    port: 0,
    /** A loopback host as the product does not know it, so that it asks for TLS. */
    get url() {
      const scheme = tls === 'from-start' ? 'smtps' : 'smtp'
      const host = tls === 'starttls' ? '[::ffff:127.0.0.1]' : 'localhost'
      const user = login === 'none' ? '' : `${login.user}:${encodeURIComponent(login.password)}@`
      return `${scheme}://${user}${host}:${smtp.port}`
    },
    /** The mails that were accepted, in their order. */
    mails: [] as ArrivedMail[],
    /** How often each step was reached. */
    steps: { greeting: 0, login: 0, sender: 0, recipient: 0, message: 0 } as Record<SmtpStep, number>,
    /** The most connections that were open at the same time. */
    connectionsMax: 0,
    /** Called at each step. For `recipient` and `message` with the address it is for. */
    fail: (_step: SmtpStep, _address: string): SmtpFailure | undefined => undefined,
    /** How long it takes to accept a message. */
    pause_ms: 0,
    /** Waits for the next mail to this address that no earlier call returned. */
    async mailTo(address: string): Promise<ArrivedMail> {
      const mail = await eventually(
        () => smtp.mails.find((arrived) => arrived.to === address && !returned.has(arrived)),
        { otherwise: () => `no mail to ${address}`, limit_ms: 60_000 },
      )
      returned.add(mail)
      return mail
    },
    /** Listens again, on the same port. */
    async start() {
      server = createServer()
      server.listen(smtp.port, '127.0.0.1')
      await once(server.server, 'listening')
      smtp.port = (server.server.address() as AddressInfo).port
    },
    async stop() {
      const stopping = server
      server = undefined
      if (!stopping) return
      const closed = new Promise<void>((resolve) => stopping.close(() => resolve()))
      for (const connection of stopping.connections) connection._socket.destroy()
      await closed
    },
    [Symbol.asyncDispose]: () => smtp.stop(),
  }
  const returned = new Set<ArrivedMail>()

  /** Goes on with a step, or fails at it. */
  function pass(
    step: SmtpStep,
    { session: { id }, address = '', done }: { session: { id: string }; address?: string; done: Reply },
  ): void {
    smtp.steps[step] += 1
    smtp.connectionsMax = Math.max(smtp.connectionsMax, server?.connections.size ?? 0)
    const failure = smtp.fail(step, address)
    const socket = [...(server?.connections ?? [])].find((connection) => connection.id === id)?._socket
    if (failure === 'hang') return
    if (failure === 'drop') socket?.destroy()
    else if (failure === 'drip') {
      const dripping = setInterval(() => socket?.write('2'), DRIP_EVERY_MS)
      socket?.once('close', () => clearInterval(dripping))
    } else if (!failure) done()
    else done(Object.assign(new Error(failure.slice(4)), { responseCode: Number(failure.slice(0, 3)) }))
  }

  const createServer = () =>
    new SMTPServer({
      secure: tls === 'from-start',
      key: keyPem,
      cert: pem,
      authOptional: login === 'none',
      allowInsecureAuth: tls === 'none',
      disabledCommands: [...(login === 'none' ? ['AUTH'] : []), ...(tls === 'none' ? ['STARTTLS'] : [])],
      disableReverseLookup: true,
      onConnect: (session, done) => pass('greeting', { session, done }),
      onAuth({ username, password }, session, done) {
        const isRight = login !== 'none' && username === login.user && password === login.password
        const refusal = Object.assign(new Error('5.7.8 Bad credentials'), { responseCode: 535 })
        const answer = (error?: Error) =>
          error ? done(error) : isRight ? done(null, { user: username }) : done(refusal)
        pass('login', { session, done: answer })
      },
      onMailFrom: ({ address }, session, done) => pass('sender', { session, address, done }),
      onRcptTo: ({ address }, session, done) => pass('recipient', { session, address, done }),
      onData(stream, session, done) {
        const accept = async (source: string) => {
          const address = session.envelope.rcptTo[0]?.address ?? ''
          const arrived = await parseMail(source, session.envelope.mailFrom)
          pass('message', {
            session,
            address,
            done(error) {
              if (!error) smtp.mails.push(arrived)
              setTimeout(() => done(error), smtp.pause_ms)
            },
          })
        }
        // A client that goes away in the middle.
        text(stream).then(accept, () => {})
      },
      // A client that refuses the certificate, or goes away.
    }).on('error', () => {})

  await smtp.start()
  return smtp
}

type Reply = (error?: Error) => void

async function parseMail(source: string, sender: { address: string } | false) {
  const parsed = await simpleParser(source)
  const header = (name: string) => String(parsed.headers.get(name) ?? '')
  const addresses = (field?: AddressObject | AddressObject[]) =>
    [field ?? []].flat().flatMap(({ value }) => value.map(({ address }) => address ?? ''))
  return {
    /** The whole mail as it came, undecoded. */
    source,
    envelopeFrom: sender ? sender.address : '',
    from: parsed.from?.text ?? '',
    to: addresses(parsed.to).join(),
    subject: parsed.subject ?? '',
    messageId: parsed.messageId ?? '',
    text: parsed.text ?? '',
    html: parsed.html || '',
    header,
  }
}
