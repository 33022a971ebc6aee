import { z } from 'zod'
import {
  issuerUrl,
  keyEncryptionKey,
  portNumber,
  publicUrl,
  REDIS_PROTOCOLS,
  storeUrl,
} from '#shared/process/config.ts'
import { PASSWORD_MAX_BYTES } from '../apps/api/accounts/passwords.ts'

const DEFAULT_PORT = 8_080

/** The settings of `npm start`, which `admin config reference` prints too. */
export const LOCAL_SHAPE = {
  PORT: portNumber
    .default(DEFAULT_PORT)
    .meta({ description: 'the gateway; everything listens on loopback only' }),
  AUTH_PORT: portNumber
    .optional()
    .meta({ fallback: '`PORT` + 1', description: 'the authorization server, called directly' }),
  API_PORT: portNumber
    .optional()
    .meta({ fallback: '`PORT` + 2', description: 'the resource API, called directly' }),
  AUTH_METRICS_PORT: portNumber
    .optional()
    .meta({ fallback: '`PORT` + 3', description: 'metrics of the authorization server' }),
  API_METRICS_PORT: portNumber
    .optional()
    .meta({ fallback: '`PORT` + 4', description: 'metrics of the resource API' }),
  DATA_DIR: z.string().default('.data').meta({
    description:
      'where all data is kept: Postgres, Redis, secrets (readable only by you), the audit trail, and in `mail` the last 500 mails, unless `SMTP_URL` and `MAIL_FROM` name a real server',
  }),
  DEMO_PASSWORD: z
    .string()
    .refine(
      (text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES,
      `must have at most ${PASSWORD_MAX_BYTES} bytes`,
    )
    .optional()
    .meta({
      secret: true,
      fallback: 'generated, shown once',
      description: 'password of all demo users, set on the first start',
    }),
  DATABASE_URL: storeUrl(['postgres:', 'postgresql:'])
    .optional()
    .meta({
      secret: true,
      fallback: 'starts one',
      description:
        'an existing Postgres; log in as a role that may create tables and roles. The roles of the ' +
        'services and of the operator get new passwords there',
    }),
  REDIS_URL: storeUrl(REDIS_PROTOCOLS).optional().meta({
    secret: true,
    fallback: 'starts one',
    description: 'an existing Redis with `maxmemory-policy noeviction`; both services use this URL',
  }),
  KEY_ENCRYPTION_KEY: keyEncryptionKey.optional().meta({
    secret: true,
    fallback: 'generated',
    description: 'set it to the old key if the database outlives its `DATA_DIR`',
  }),
  ISSUER: issuerUrl.optional().meta({ fallback: 'the gateway', description: 'the address that callers use' }),
  API_RESOURCE: publicUrl
    .optional()
    .meta({ fallback: 'the gateway', description: "the API's identifier, used as `aud` in tokens" }),
  LOG_LEVEL: z.string().default('warn').meta({
    description: 'what the services print on standard error; the audit trail gets its events at every level',
  }),
}
