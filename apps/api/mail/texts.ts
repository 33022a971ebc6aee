import { hoursInWords } from '#shared/rules/hours-in-words.ts'
import { causeWords } from '#shared/rules/refusal-causes.ts'
import type { CompanyRecord, CompanyRole } from '../accounts/people.ts'
import type { MailDetails, MailKind, NamedClient } from './kinds.ts'
import { layOut, type MailLayout, type MailText } from './layout.ts'
import { inSubject, quoted } from './quoted-names.ts'

/** What a text needs beside its detail, as it is when the mail is sent. */
export interface MailReader {
  /** The workspace's URL, without a slash at its end. */
  baseUrl: string
  /** The company that the mail is about, and the reader's role in it. null: it is about their account. */
  company: (Pick<CompanyRecord, 'vendorId' | 'name' | 'timezone'> & { role: CompanyRole }) | null
  /** The link of an invitation or a password reset. */
  credential?: { url: string; expiresAt: Date }
  /** The name of the person who invites. */
  invitedBy?: string
  /** The names of the companies of the account whose password is reset. */
  companies?: readonly string[]
}

/**
 * Returns the text of a mail. It says what was seen, and has nothing that a stranger wrote.
 * @throws TypeError if the reader lacks what the kind needs, or no one gets mails of the kind.
 */
export function renderMail<Kind extends MailKind>(
  kind: Kind,
  detail: MailDetails[Kind],
  reader: MailReader,
): MailText {
  return layOut(WRITERS[kind](detail, reader))
}

const WRITERS: { [Kind in MailKind]: (detail: MailDetails[Kind], reader: MailReader) => MailLayout } = {
  invitation(_, { company, credential, invitedBy }) {
    const { name, role, timezone } = required(company)
    const { url, expiresAt } = required(credential)
    const inviter = quoted(required(invitedBy))
    return {
      subject: `Invitation to ${inSubject(name)}`,
      paragraphs: [
        `${inviter} invites you to join ${quoted(name)} as ${ROLES[role]}.`,
        `The link works once, until ${timeIn(timezone, expiresAt)}. Anyone who has it can accept, so do not forward this mail.`,
      ],
      action: { label: 'Accept the invitation', url },
      because: `${inviter} entered your address. If you did not expect it, ignore it.`,
    }
  },

  password_reset_request() {
    throw new TypeError('a request is replaced by a mail for each account')
  },

  password_reset({ requestedAt }, { credential, companies = [] }) {
    const { url, expiresAt } = required(credential)
    const at = companies.length > 0 ? ` at ${companies.map(quoted).join(', ')}` : ''
    return {
      subject: 'Choose a new password',
      paragraphs: [
        `Someone asked for a new password for your account${at} on ${timeIn('UTC', requestedAt)}.`,
        `If it was you, choose one now. The link works once, until ${timeIn('UTC', expiresAt)}.`,
        'If it was not you, ignore this mail. Your password stays as it is.',
      ],
      action: { label: 'Choose a new password', url },
      because: ACCOUNT,
    }
  },

  sign_in_with_provider: ({ requestedAt }, { baseUrl }) => ({
    subject: 'Your account has no password here',
    paragraphs: [
      `Someone asked for a new password for your account on ${timeIn('UTC', requestedAt)}.`,
      'You sign in through your organization, so there is no password here to reset. The sign-in page leads you there.',
      'If it was not you, ignore this mail.',
    ],
    action: { label: 'Open the sign-in page', url: `${baseUrl}/` },
    because: ACCOUNT,
  }),

  password_changed: ({ at, by }, { baseUrl }) => ({
    subject: 'Your password was changed',
    paragraphs: [
      `The password of your account was changed on ${timeIn('UTC', at)}, ${CHANGES[by]}`,
      by === 'operator'
        ? 'If you did not ask for this, contact the operator.'
        : 'If it was not you, choose “Forgot your password?” on the sign-in page at once.',
    ],
    action: { label: 'Open the sign-in page', url: `${baseUrl}/` },
    because: ACCOUNT,
  }),

  secret_found({ client, foundAt, willBeRevoked }, { company, baseUrl }) {
    const { vendorId, timezone } = required(company)
    const name = quoted(client.name)
    return {
      subject: `The secret of ${inSubject(client.name)} was found`,
      paragraphs: [
        `On ${timeIn(timezone, foundAt)}, someone reported that they had found the secret of ${name}. It is the right secret: whoever has it can get tokens as this client until the client is revoked.`,
        willBeRevoked
          ? 'This service revokes such a client on its own within seconds, and whatever uses it is refused from then on. Create a replacement and deploy it.'
          : 'If you revoke now, whatever uses the client fails until it has a replacement. If you replace it first, nothing fails, but the secret works until you revoke.',
      ],
      action: {
        label: willBeRevoked ? 'Replace the client' : 'Revoke or replace the client',
        url: clientUrl(baseUrl, vendorId, client),
      },
      because: manages(company),
    }
  },

  client_failing({ client, since, cause, lastTokenAt, senderKnown }, { company, baseUrl }) {
    const { vendorId, timezone } = required(company)
    return {
      subject: `${inSubject(client.name)} is being refused`,
      paragraphs: [
        `Every request of ${quoted(client.name)} has been refused since ${timeIn(timezone, since)}. The latest reason: ${causeWords(cause)}.`,
        `It last got a token on ${timeIn(timezone, lastTokenAt)}.`,
        ...(senderKnown
          ? []
          : [
              'It has never gone this long without one. Still, anyone who knows the client id can send such requests, so check whether they are yours.',
            ]),
      ],
      action: { label: 'See what to change', url: clientUrl(baseUrl, vendorId, client) },
      because: manages(company),
    }
  },

  clients_expire({ clients }, { company, baseUrl }) {
    const { vendorId, timezone } = required(company)
    const [first = { clientId: '', name: '', expiresAt: '' }, ...others] = clients
    const day = dayIn(timezone, first.expiresAt)
    const isOneDay = clients.every(({ expiresAt }) => dayIn(timezone, expiresAt) === day)
    const replace = 'If something still uses it, deploy a replacement before then.'
    if (others.length === 0)
      return {
        subject: `${inSubject(first.name)} expires on ${day}`,
        paragraphs: [
          `${quoted(first.name)} expires on ${timeIn(timezone, first.expiresAt)}. From then on, its token requests are refused.`,
          `The date cannot be changed. ${replace}`,
        ],
        action: { label: 'Replace the client', url: `${clientUrl(baseUrl, vendorId, first)}/rotate` },
        because: manages(company),
      }
    return {
      subject: `${clients.length} clients expire${isOneDay ? '' : ', the first'} on ${day}`,
      paragraphs: [
        'These clients expire. From then on, their token requests are refused.',
        clients.map(({ name, expiresAt }) => `${quoted(name)} on ${timeIn(timezone, expiresAt)}`),
        `The dates cannot be changed. ${replace.replace('it', 'one of them')}`,
      ],
      action: {
        label: 'Open the clients',
        url: `${baseUrl}/${vendorId}/integrations/oauth2-clients?sort=expires`,
      },
      because: manages(company),
    }
  },

  replaced_client_quiet({ client, replacement, longestQuietHours, seenSince }, { company, baseUrl }) {
    const { vendorId, timezone } = required(company)
    const [old, next] = [quoted(client.name), quoted(replacement.name)]
    return {
      subject: `${inSubject(client.name)} has got no token for 7 days`,
      paragraphs: [
        `${next} replaces ${old}. Both are Active, and the old client has got no token for at least 7 days.`,
        [
          `${old} last got one on ${timeIn(timezone, client.lastTokenAt)}.`,
          `${next} last got one on ${timeIn(timezone, replacement.lastTokenAt)}.`,
          longestQuietHours === null
            ? `Only one token of the old client has been seen since ${timeIn(timezone, seenSince)}.`
            : `The longest time between two tokens of the old client since ${timeIn(timezone, seenSince)} was ${hoursInWords(longestQuietHours)}.`,
        ],
        'Until it is revoked, the old client can get tokens. Whether anything still needs it is for you to judge: we see requests, not what you have deployed.',
      ],
      action: { label: 'Compare the two clients', url: `${clientUrl(baseUrl, vendorId, client)}/rotate` },
      because: manages(company),
    }
  },

  issuer_keys_unreachable({ issuer, since, clients }, { company, baseUrl }) {
    const { vendorId, timezone } = required(company)
    const [first = { clientId: '', name: '' }] = clients
    const address = issuer.replace('https://', '')
    return {
      subject: `The keys of ${inSubject(address)} cannot be fetched`,
      paragraphs: [
        `We last fetched the signing keys of ${quoted(address)} on ${timeIn(timezone, since)}. The latest attempt failed.`,
        'A day after the last fetch, its tokens are refused, and these clients get no access:',
        clients.map(({ name }) => quoted(name)),
      ],
      action: { label: 'See why it fails', url: clientUrl(baseUrl, vendorId, first) },
      because: manages(company),
    }
  },
}

const ACCOUNT = 'your account has this address.'

const ROLES: Record<CompanyRole, string> = {
  owner: 'the owner',
  admin: 'an admin',
  viewer: 'a viewer',
  member: 'a member',
}

const CHANGES: Record<MailDetails['password_changed']['by'], string> = {
  person: 'by someone who was signed in and knew the old one. All other sessions have ended.',
  reset: 'with a link that was mailed to you. All sessions have ended.',
  operator: 'by the operator of this service. All sessions have ended.',
}

const manages = (company: MailReader['company']): string =>
  `you are ${ROLES[required(company).role]} of ${quoted(required(company).name)}.`

const clientUrl = (baseUrl: string, vendorId: string, { clientId }: NamedClient): string =>
  `${baseUrl}/${vendorId}/integrations/oauth2-clients/${clientId}`

function required<Value>(value: Value): NonNullable<Value> {
  if (value === null || value === undefined) throw new TypeError('the reader of a mail lacks something')
  return value
}

const formatsIn = (timeZone: string) => ({
  timeZone,
  day: new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
  }),
  clock: new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'short' }),
})

/** A company's zone that this system does not know must not keep a mail from being sent. */
function formats(timezone: string): ReturnType<typeof formatsIn> {
  try {
    return formatsIn(timezone)
  } catch {
    return formatsIn('UTC')
  }
}

/** "Sat 28 Nov 2026" */
const dayIn = (timezone: string, at: string | Date): string =>
  formats(timezone).day.format(new Date(at)).replace(',', '')

/** "Sat 28 Nov 2026 at 23:40 (Europe/Berlin)" */
const timeIn = (timezone: string, at: string | Date): string =>
  `${dayIn(timezone, at)} at ${formats(timezone).clock.format(new Date(at))} (${formats(timezone).timeZone})`
