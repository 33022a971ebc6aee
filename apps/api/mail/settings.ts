import { z } from 'zod'

/** The settings of mail. Without SMTP_URL nothing is mailed. */
export const mailShape = {
  SMTP_URL: z.string().optional().meta({
    secret: true,
    fallback: 'none: nothing is mailed',
    description: '`smtps://user:password@host:465` or `smtp://user:password@host:587`',
  }),
  MAIL_FROM: z.string().optional().meta({
    fallback: 'none',
    description: 'the sender of mails, such as `Integrations <integrations@example.com>`',
  }),
}
