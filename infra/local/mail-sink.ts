import { once } from 'node:events'
import { mkdir, readdir, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { writePrivateFile } from './data-dir.ts'

const KEPT_MAX = 500
const RECIPIENT_MAX_CHARACTERS = 100

export interface MailSink {
  /** For the API's SMTP_URL. */
  url: string
  /** Where the mails are. */
  folder: string
  stop(): Promise<void>
}

/**
 * Starts an SMTP server on loopback that writes each mail to a file, by time and recipient, and keeps the
 * latest 500. Its packages are for development and are loaded only here.
 */
export async function startMailSink(folder: string): Promise<MailSink> {
  const { SMTPServer } = await import('smtp-server')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    closeTimeout: 1_000,
    disableReverseLookup: true,
    onData(stream, { envelope }, done) {
      const to = envelope.rcptTo.map(({ address }) => address).join(', ')
      keepMail(folder, stream, to).then(() => done(), done)
    },
  })
  // A client that goes away.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    folder,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The time in the name of the last mail. Each has its own, or two to one address would share a file. */
let last_ms = 0

async function keepMail(folder: string, stream: Readable, to: string): Promise<void> {
  const { simpleParser } = await import('mailparser')
  const { from, subject = '', text = '' } = await simpleParser(stream)
  last_ms = Math.max(Date.now(), last_ms + 1)
  const time = new Date(last_ms).toISOString().replaceAll(':', '-')
  const recipient = to.replace(/[^\w.@+-]+/g, '_').slice(0, RECIPIENT_MAX_CHARACTERS)
  const head = `From: ${from?.text ?? ''}\nTo: ${to}\nSubject: ${subject}\n`
  await writePrivateFile(join(folder, `${time} ${recipient}.txt`), `${head}\n${text}`)
  const names = (await readdir(folder)).filter((name) => name.endsWith('.txt')).sort()
  for (const name of names.slice(0, -KEPT_MAX)) await rm(join(folder, name), { force: true })
}
