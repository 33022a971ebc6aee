import { z } from 'zod'
import { ConfigError, LOOPBACK_HOST } from '#shared/process/config.ts'

export interface SmtpServer {
  host: string
  port: number
  /** `from-start`: the connection begins with TLS. `starttls`: it must be upgraded before a mail is sent. */
  tls: 'from-start' | 'starttls' | 'none'
  login?: { user: string; password: string }
}

export interface Sender {
  /** Empty without one. */
  name: string
  address: string
  domain: string
}

const PORT_MAX = 65_535
const SMTP_URL =
  /^smtp(s?):\/\/(?:([^\s:@/?#]+):([^\s:@/?#]+)@)?([a-z\d](?:[a-z\d.-]*[a-z\d])?|\[[\da-f:.]+\])(?::(\d{1,5}))?\/?$/i

const smtpUrl = z.string().transform((text, context) => {
  const server = parseSmtpUrl(text)
  if (server) return server
  context.addIssue(INVALID_URL)
  return z.NEVER
})

function parseSmtpUrl(text: string): SmtpServer | undefined {
  const [, s, user, password, written = '', port] = SMTP_URL.exec(text) ?? []
  const hostname = URL.parse(`http://${written}`)?.hostname
  // A number that only looks like an address has another form here.
  if (!hostname || (hostname !== written.toLowerCase() && !written.startsWith('['))) return undefined
  const tls = s ? 'from-start' : LOOPBACK_HOST.test(hostname) ? 'none' : 'starttls'
  const portNumber = Number(port ?? (s ? 465 : 587))
  if (portNumber < 1 || portNumber > PORT_MAX) return undefined
  const server = { host: hostname.replace(/^\[|\]$/g, ''), port: portNumber, tls } as const
  if (user === undefined || password === undefined) return server
  const login = { user: decode(user), password: decode(password) }
  return login.user && login.password ? { ...server, login } : undefined
}

/** Returns an empty text if this is not percent-encoded, or has a control character. */
function decode(text: string): string {
  try {
    const decoded = decodeURIComponent(text)
    return /\p{Cc}/u.test(decoded) ? '' : decoded
  } catch {
    return ''
  }
}

const INVALID_URL =
  'must be smtps://user:password@host:465 or smtp://user:password@host:587, with the user and the password ' +
  'percent-encoded (# is %23, % is %25, / is %2F, : is %3A, ? is %3F, @ is %40)'

const ADDRESS_MAX_CHARACTERS = 254
/** RFC 5321 §4.5.3.1, RFC 1035 §2.3.4. */
const address = z
  .email()
  .max(ADDRESS_MAX_CHARACTERS)
  .regex(/^[^@]{1,64}@[^.]{1,63}(?:\.[^.]{1,63})+$/)
/** No character that is invisible, ends the name, or could make it look like another address. */
const NAME = /^[^\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}@<>"\\]{0,100}$/u

const mailFrom = z.string().transform((text, context): Sender => {
  const [, name = '', inner] = /^([^<>]*)<([^<>]*)>$/.exec(text) ?? []
  const { data } = address.safeParse(inner ?? text)
  if (data && NAME.test(name) && NAME.test(name.normalize('NFKC')))
    return { name: name.trim(), address: data, domain: data.slice(data.lastIndexOf('@') + 1).toLowerCase() }
  context.addIssue('must be one address: mail@example.com or Name <mail@example.com>')
  return z.NEVER
})

/** The settings of mail. Without SMTP_URL nothing is mailed. */
export const mailShape = {
  SMTP_URL: smtpUrl.optional().meta({
    secret: true,
    fallback: 'none: nothing is mailed',
    description:
      'the server that takes our mails: `smtps://user:password@host:465` or `smtp://user:password@host:587`, which must offer STARTTLS unless the host is loopback',
  }),
  MAIL_FROM: mailFrom.optional().meta({
    fallback: 'none',
    description:
      'the sender of mails, such as `Integrations <integrations@example.com>`; required with SMTP_URL',
  }),
}

export interface MailSettings {
  server: SmtpServer
  from: Sender
}

/**
 * Returns undefined without the settings of mail.
 * @throws ConfigError if one is set without the other.
 */
export function mailSettings({
  SMTP_URL: server,
  MAIL_FROM: from,
}: z.infer<z.ZodObject<typeof mailShape>>): MailSettings | undefined {
  if (server && from) return { server, from }
  if (!server && !from) return undefined
  const [missing, present] = server ? ['MAIL_FROM', 'SMTP_URL'] : ['SMTP_URL', 'MAIL_FROM']
  throw new ConfigError(`The configuration is invalid:\n  ${missing}: is required, since ${present} is set`)
}
