import { randomUUID } from 'node:crypto'
import type { NodemailerError } from 'nodemailer'
import { ConfigError, readConfig } from '#shared/process/config.ts'
import { emailAddress } from '../../apps/api/accounts/names.ts'
import { mailSettings, mailShape } from '../../apps/api/mail/settings.ts'
import { createSmtpClient, describeSmtpFailure } from '../../apps/api/mail/smtp.ts'
import { heartbeat, linesTo } from '../progress.ts'
import type { CommandEnvironment, CommandGroup, Outcome } from './commands.ts'
import { OperatorError } from './operator.ts'

const REPLY_MAX_CHARACTERS = 500

export const MAIL: CommandGroup = {
  name: 'mail',
  description: 'Mail',
  commands: [
    {
      name: 'test',
      description: "Send a test mail with the API's settings SMTP_URL and MAIL_FROM",
      example: 'mail test ada@acme.example',
      args: ['address'],
      runAlone: sendTestMail,
    },
  ],
}

async function sendTestMail(
  { env, stderr }: CommandEnvironment,
  { address }: { address: string },
): Promise<Outcome> {
  const settings = mailSettings(readConfig(env, mailShape))
  if (!settings)
    throw new ConfigError(
      'Nothing is mailed: set SMTP_URL and MAIL_FROM as for the API. ' +
        'Without them, npm start writes mails to files in DATA_DIR/mail.',
    )
  const to = emailAddress.safeParse(address)
  if (!to.success) throw new OperatorError('That is not an email address.')
  const { server, from } = settings
  const client = await createSmtpClient(settings)
  const mailId = randomUUID()
  const text = `This is a test of the settings for mail, sent by command on ${new Date().toUTCString()}.\n`
  try {
    const sending = client.send({ mailId, to: to.data, subject: 'Test of the settings for mail', text })
    await heartbeat(linesTo(stderr), () => 'Waiting for the mail server', sending)
  } catch (error) {
    throw new OperatorError(
      `The mail was not sent: ${describeSmtpFailure(error as NodemailerError)}.${reply(error)}`,
    )
  } finally {
    client.close()
  }
  const data = { server: `${server.host}:${server.port}`, from: from.address, to: to.data, mailId }
  return {
    text:
      `${data.server} accepted a mail from ${data.from} to ${data.to}, with the Message-ID ` +
      `<${mailId}@${from.domain}>. If it does not arrive, look for it in the provider's log.`,
    data,
  }
}

/** What the server said, for the operator's eyes alone: it may repeat the address. */
function reply(error: unknown): string {
  const { response } = error as NodemailerError
  const text = response?.replace(/[\p{C}\s]+/gu, ' ').slice(0, REPLY_MAX_CHARACTERS)
  return text ? ` It said: ${text}` : ''
}
