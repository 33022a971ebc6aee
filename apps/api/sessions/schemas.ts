import { z } from 'zod'
import { PASSWORD_MAX_BYTES } from '#shared/passwords.ts'
import { vendorId } from '../http/schemas.ts'

const EMAIL_MAX_CHARACTERS = 254

export const password = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .refine(
    (text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES,
    `must have at most ${PASSWORD_MAX_BYTES} bytes`,
  )

export const SignIn = z
  .strictObject({
    email: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(EMAIL_MAX_CHARACTERS, `must have at most ${EMAIL_MAX_CHARACTERS} characters`)
      .refine((text) => !text.includes('\0'), 'must be an email address'),
    password,
  })
  .meta({ id: 'SignIn' })

const session = {
  expiresIn: z.int().meta({ description: 'Seconds from now. Using the session does not extend it.' }),
  user: z.object({ userId: z.string(), name: z.string(), email: z.string() }),
  companies: z.array(
    z.object({
      vendorId,
      name: z.string(),
      role: z.enum(['owner', 'admin', 'member']),
      status: z.enum(['active', 'suspended']),
    }),
  ),
}

export const Session = z.object(session).meta({ id: 'Session' })
export const NewSession = z.object({ sessionToken: z.string(), ...session }).meta({ id: 'NewSession' })
