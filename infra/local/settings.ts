import { resolve } from 'node:path'
import { z } from 'zod'
import {
  issuerUrl,
  keyEncryptionKey,
  portNumber,
  publicUrl,
  REDIS_PROTOCOLS,
  readConfig,
  storeUrl,
} from '#shared/process/config.ts'
import { PASSWORD_MAX_BYTES } from '../../apps/api/accounts/passwords.ts'

const DEFAULT_PORT = 8_080

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
    description: 'where all data is kept: Postgres, Redis, secrets (readable only by you), the audit trail',
  }),
  DEMO_PASSWORD: z
    .string()
    .refine((text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES, 'is too long')
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
        'an existing Postgres; log in as a role that may create tables and roles. ' +
        'The roles of the services and of the operator get new passwords there',
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

/** Set by the stack for each service, or unused by services. */
const NOT_PASSED_ON = new Set([
  ...Object.keys(LOCAL_SHAPE),
  'HOST',
  'METRICS_HOST',
  'METRICS_PORT',
  'TRUSTED_PROXIES',
])

/**
 * The settings of the local stack. Everything has a default. `issuer` and `apiResource` default to the
 * gateway.
 */
export type LocalSettings = ReturnType<typeof localSettings>

/** @throws ConfigError that names every invalid variable. */
export function localSettings(env: NodeJS.ProcessEnv) {
  const config = readConfig(env, LOCAL_SHAPE)
  const { PORT, AUTH_PORT = PORT + 1, API_PORT = PORT + 2 } = config
  const { AUTH_METRICS_PORT = PORT + 3, API_METRICS_PORT = PORT + 4 } = config
  const ports = { PORT, AUTH_PORT, API_PORT, AUTH_METRICS_PORT, API_METRICS_PORT }
  const baseUrl = `http://localhost:${PORT}`
  const isPassedOn = (name: string): boolean => !NOT_PASSED_ON.has(name.replace(/_FILE$/, ''))
  return {
    ports,
    baseUrl,
    dataDir: resolve(config.DATA_DIR),
    demoPassword: config.DEMO_PASSWORD,
    databaseUrl: config.DATABASE_URL,
    redisUrl: config.REDIS_URL,
    /** In base64. */
    keyEncryptionKey: config.KEY_ENCRYPTION_KEY?.map((key) => key.toString('base64')).join(','),
    issuer: config.ISSUER ?? baseUrl,
    apiResource: config.API_RESOURCE ?? baseUrl,
    logLevel: config.LOG_LEVEL,
    /** Passed on to the services, such as rate limits. */
    serviceEnv: {
      DRAIN_DELAY_S: '0',
      ...Object.fromEntries(
        Object.entries(env).filter(
          (entry): entry is [string, string] => entry[1] !== undefined && isPassedOn(entry[0]),
        ),
      ),
    } as Record<string, string>,
  }
}
