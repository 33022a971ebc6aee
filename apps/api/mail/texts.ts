import { hoursInWords } from '#shared/rules/hours-in-words.ts'
import { causeWords } from '#shared/rules/refusal-causes.ts'
import type { CompanyRole } from '../accounts/people.ts'
import type { Addressee } from './addressee.ts'
import type { MailDetails, MailKind } from './kinds.ts'
import { layOut, type MailLayout, type MailText } from './layout.ts'
import { inSubject, quoted } from './quoted-names.ts'

/** @property baseUrl the workspace's URL, without a slash at its end. */
export type MailReader = Omit<Addressee, 'email'> & { baseUrl: string }

/**
 * Returns the text of a mail. It says what was seen, and has nothing that a stranger wrote.
 * @throws TypeError if the reader lacks what the kind needs, or no one gets mails of the kind.
 */
export function renderMail<Kind extends MailKind>(
  kind: Kind,
  detail: MailDetails[Kind],
  reader: MailReader,
): MailText {
  const { company } = reader
  const because = company
    ? `you are ${ROLES[company.role]} of ${quoted(company.name)}.`
    : 'your account has this address.'
  return layOut({ because, ...WRITERS[kind](detail, describeReader(reader)) })
}

type About = ReturnType<typeof describeReader>

/** Returns what the texts have in common. */
function describeReader(reader: MailReader) {
  const { baseUrl, company, timezone = 'UTC' } = reader
  const zone = knownZone(company?.timezone ?? timezone)
  const day = (time: string | Date): string => formatDay(time, zone)
  return {
    reader,
    day,
    at: (time: string | Date): string => `${day(time)} at ${formatClock(time, zone)} (${zone})`,
    /** Returns the URL of the list of clients, or of a page below it. */
    page: (path: string): string =>
      `${baseUrl}/${required(company).vendorId}/integrations/oauth2-clients${path}`,
    signIn: ['Open the sign-in page', `${baseUrl}/`] as const,
  }
}

type Content = Omit<MailLayout, 'because'> & Partial<MailLayout>

const WRITERS: { [Kind in MailKind]: (detail: MailDetails[Kind], about: About) => Content } = {
  invitation(_, { reader, at }) {
    const { name, role } = required(reader.company)
    const { url, expiresAt } = required(reader.link)
    const inviter = quoted(required(reader.invitedBy))
    return {
      subject: `Invitation to ${inSubject(name)}`,
      paragraphs: [
        `${inviter} invites you to join ${quoted(name)} as ${ROLES[role]}.`,
        `The link works once, until ${at(expiresAt)}. Anyone who has it can accept, so do not forward this email.`,
      ],
      action: ['Accept the invitation', url],
      because: `${inviter} entered your address. If you did not expect it, ignore it.`,
    }
  },

  password_reset_request() {
    throw new TypeError('a request is replaced by a mail for each account')
  },

  password_reset({ requestedAt }, { reader: { link, companies = [] }, at }) {
    const { url, expiresAt } = required(link)
    const where = companies.length > 0 ? ` at ${companies.map(quoted).join(', ')}` : ''
    return {
      subject: 'Choose a new password',
      paragraphs: [
        `Someone asked for a new password for your account${where} on ${at(requestedAt)}.`,
        `If it was you, choose one now. The link works once, until ${at(expiresAt)}.`,
        'If it was not you, ignore this email. Your password stays as it is.',
      ],
      action: ['Choose a new password', url],
    }
  },

  sign_in_with_provider: ({ requestedAt }, { at, signIn }) => ({
    subject: 'Your account has no password here',
    paragraphs: [
      `Someone asked for a new password for your account on ${at(requestedAt)}.`,
      'You sign in through your organization, so there is no password here to reset. The sign-in page takes you there.',
      'If it was not you, ignore this email.',
    ],
    action: signIn,
  }),

  password_changed: ({ at: time, by }, { at, signIn }) => ({
    subject: 'Your password was changed',
    paragraphs: [
      `The password of your account was changed on ${at(time)}, ${CHANGES[by]}`,
      by === 'operator'
        ? 'If you did not ask for this, contact the operator.'
        : 'If it was not you, choose “Forgot your password?” on the sign-in page at once.',
    ],
    action: signIn,
  }),

  secret_found: ({ client: { clientId, name }, foundAt, willBeRevoked }, { at, page }) => ({
    subject: `The secret of ${inSubject(name)} was found`,
    paragraphs: [
      `On ${at(foundAt)}, someone reported that they had found the secret of ${quoted(name)}. It is the right secret: whoever has it can get tokens as this client until the client is revoked or expires.`,
      willBeRevoked
        ? 'This service revokes the client automatically within seconds, and whatever uses it is refused from then on. Create a replacement and deploy it.'
        : 'If you revoke now, whatever uses the client fails until it has a replacement. If you replace it first, nothing fails, but the secret works until you revoke.',
    ],
    action: [willBeRevoked ? 'Replace the client' : 'Revoke or replace the client', page(`/${clientId}`)],
  }),

  client_failing: ({ client, since, cause, lastTokenAt, senderKnown }, { at, page }) => ({
    subject: `${inSubject(client.name)} is being refused`,
    paragraphs: [
      `Every request from ${quoted(client.name)} has been refused since ${at(since)}. The latest reason: ${causeWords(cause)}.`,
      `It last got a token on ${at(lastTokenAt)}.`,
      ...(senderKnown ? [] : [UNKNOWN_SENDER]),
    ],
    action: ['See what to change', page(`/${client.clientId}`)],
  }),

  clients_expire({ clients }, { at, day, page }) {
    const [first, second] = clients
    const firstDay = day(required(first).expiresAt)
    if (first && !second)
      return {
        subject: `${inSubject(first.name)} expires on ${firstDay}`,
        paragraphs: [
          `${quoted(first.name)} expires on ${at(first.expiresAt)}. From then on, its token requests are refused.`,
          'The date cannot be changed. If something still uses it, deploy a replacement before then.',
        ],
        action: ['Replace the client', page(`/${first.clientId}/rotate`)],
      }
    const isOneDay = clients.every(({ expiresAt }) => day(expiresAt) === firstDay)
    return {
      subject: `${clients.length} clients expire${isOneDay ? '' : ', the first'} on ${firstDay}`,
      paragraphs: [
        'These clients expire. From then on, their token requests are refused.',
        clients.map(({ name, expiresAt }) => `${quoted(name)} on ${at(expiresAt)}`),
        'The dates cannot be changed. If something still uses one of them, deploy a replacement before then.',
      ],
      action: ['Open the clients', page('?sort=expires')],
    }
  },

  replaced_client_quiet({ client, replacement, longestQuietHours, seenSince }, { at, page }) {
    const [old, next] = [quoted(client.name), quoted(replacement.name)]
    return {
      subject: `${inSubject(client.name)} has not been issued a token for 7 days`,
      paragraphs: [
        `${next} replaces ${old}. Both are Active, and the old client has not been issued a token for at least 7 days.`,
        [
          `${old} last got one on ${at(client.lastTokenAt)}.`,
          `${next} last got one on ${at(replacement.lastTokenAt)}.`,
          longestQuietHours === null
            ? `Only one token of the old client has been seen since ${at(seenSince)}.`
            : `The longest time between two tokens of the old client since ${at(seenSince)} was ${hoursInWords(longestQuietHours)}.`,
        ],
        'Until it is revoked, the old client can get tokens. Whether anything still needs it is for you to judge: we see requests, not what you have deployed.',
      ],
      action: ['Compare the two clients', page(`/${client.clientId}/rotate`)],
    }
  },

  issuer_keys_unreachable({ issuer, since, clients }, { at, page }) {
    const address = issuer.replace('https://', '')
    return {
      subject: `The keys of ${inSubject(address)} cannot be fetched`,
      paragraphs: [
        `We last fetched the signing keys of ${quoted(address)} on ${at(since)}. The latest attempt failed.`,
        'A day after the last fetch, its tokens are refused, and these clients get no access:',
        clients.map(({ name }) => quoted(name)),
      ],
      action: ['See why it fails', page(`/${required(clients[0]).clientId}`)],
    }
  },
}

const ROLES: Record<CompanyRole, string> = {
  owner: 'the owner',
  admin: 'an admin',
  viewer: 'a viewer',
  member: 'a member',
}

const CHANGES: Record<MailDetails['password_changed']['by'], string> = {
  person: 'by someone who was signed in and knew the old one. All other sessions have ended.',
  reset: 'with a link that was emailed to you. All sessions have ended.',
  operator: 'by the operator of this service. All sessions have ended.',
}

const UNKNOWN_SENDER =
  'It has never gone this long without one. Still, anyone who knows the client id can send such requests, so check whether they are yours.'

function required<Value>(value: Value): NonNullable<Value> {
  if (value === null || value === undefined) throw new TypeError('the reader of a mail lacks something')
  return value
}

/** A company's zone that this system does not know must not keep a mail from being sent. */
function knownZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }) && timeZone
  } catch {
    return 'UTC'
  }
}

const DAY = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const

/** "Sat 28 Nov 2026" */
const formatDay = (time: string | Date, timeZone: string): string =>
  new Date(time).toLocaleDateString('en-GB', { ...DAY, timeZone }).replace(',', '')

/** "23:40" */
const formatClock = (time: string | Date, timeZone: string): string =>
  new Date(time).toLocaleTimeString('en-GB', { timeStyle: 'short', timeZone })
