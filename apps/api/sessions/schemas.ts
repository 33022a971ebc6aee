import { z } from 'zod'
import { vendorId } from '../accounts/actor.ts'
import { EMAIL_MAX_CHARACTERS, personName } from '../accounts/names.ts'
import { PASSWORD_MAX_BYTES } from '../accounts/passwords.ts'
import { instant } from '../http/instant.ts'
import { cursorTime, nextCursor, pageParameters } from '../http/page.ts'

export const password = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .refine(
    (text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES,
    `must have at most ${PASSWORD_MAX_BYTES} bytes`,
  )

const cookie = z.boolean('must be true or false').default(false).meta({
  description: 'true: set the session as an HttpOnly cookie instead of returning it.',
})

export const SignIn = z
  .strictObject({
    email: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(EMAIL_MAX_CHARACTERS, `must have at most ${EMAIL_MAX_CHARACTERS} characters`)
      .refine((text) => !text.includes('\0'), 'must be an email address'),
    password,
    cookie,
  })
  .meta({ id: 'SignIn' })

export const PasswordChange = z
  .strictObject({ currentPassword: password, newPassword: password })
  .meta({ id: 'PasswordChange' })

const invitationToken = z.string('must be a string').max(100, 'must be the token of an invitation')

export const PresentedToken = z.strictObject({ token: invitationToken }).meta({ id: 'PresentedToken' })

export const InvitationPreview = z
  .object({
    vendorId,
    companyName: z.string(),
    invitedBy: z.string().meta({ description: "The inviter's name." }),
    name: z.string().meta({ description: "The invited person's name, as the inviter wrote it." }),
    email: z.string(),
    role: z.enum(['admin', 'member']),
    expiresAt: instant,
  })
  .meta({ id: 'InvitationPreview' })

export const AcceptedInvitation = z
  .strictObject({
    token: invitationToken,
    password,
    name: personName.optional().meta({
      description: "A new account's name, if not the invitation's. An existing account keeps its name.",
    }),
    existingAccount: z.boolean('must be true or false').default(false).meta({
      description: 'true: join only with an existing account that has this password.',
    }),
    cookie,
  })
  .meta({ id: 'AcceptedInvitation' })

const session = {
  expiresIn: z.int().meta({ description: 'Seconds from now. Using the session does not extend it.' }),
  user: z.object({ userId: z.string(), name: z.string(), email: z.string() }),
  companies: z.array(
    z.object({
      vendorId,
      name: z.string(),
      timezone: z.string().meta({ examples: ['Europe/Berlin'] }),
      role: z.enum(['owner', 'admin', 'member']),
      status: z.enum(['active', 'suspended']),
      ownerName: z.string().nullable().meta({ description: 'Whom to ask for permission.' }),
    }),
  ),
}

export const Session = z.object(session).meta({ id: 'Session' })
export const CreatedSession = z
  .object({
    sessionToken: z.string().optional().meta({ description: 'Omitted when set as a cookie.' }),
    ...session,
  })
  .meta({ id: 'CreatedSession' })

export const SessionQuery = z.strictObject(
  pageParameters(z.tuple([cursorTime, z.string().regex(/^sid_[0-9a-f]{32}$/)])),
)

const ListedSession = z
  .object({
    sessionId: z.string(),
    createdAt: instant,
    lastSeenAt: instant.meta({ description: 'To the minute.' }),
    address: z.string().nullable().meta({ description: 'Where it started.' }),
    userAgent: z.string().nullable().meta({ description: 'As the browser sent it; at most 200 characters.' }),
    current: z.boolean().meta({ description: 'Whether this request uses it.' }),
  })
  .meta({ id: 'ListedSession' })

export const SessionPage = z
  .object({ sessions: z.array(ListedSession), nextCursor })
  .meta({ id: 'SessionPage' })
