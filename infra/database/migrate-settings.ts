import { z } from 'zod'
import { storeUrl } from '#shared/process/config.ts'

const password = (role: string) =>
  z
    .string()
    .optional()
    .meta({ secret: true, description: `new password for the role ${role}; lets it log in` })

/** The settings of `npm run migrate`, besides those of the admin command. */
export const MIGRATE_SHAPE = {
  DATABASE_URL: storeUrl(['postgres:', 'postgresql:']).optional().meta({
    secret: true,
    fallback: 'the local stack',
    description: 'the database, as the owner of its tables',
  }),
  DISTRIBUTE: z.enum(['citus']).optional().meta({
    description: '`citus` spreads events and days over the workers of a Citus cluster, by company',
  }),
  INTEGRATION_AUTH_PASSWORD: password('`integration_auth`'),
  INTEGRATION_API_PASSWORD: password('`integration_api`'),
  INTEGRATION_OPERATOR_PASSWORD: password('`integration_operator`'),
}
