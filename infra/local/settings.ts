import { resolve } from 'node:path'
import { z } from 'zod'
import { PASSWORD_MAX_BYTES } from '#shared/passwords.ts'
import { ConfigError, httpUrl, keyEncryptionKey, readConfig, storeUrl } from '#shared/process/config.ts'

const HIGHEST_PORT = 65_535
const DEFAULT_PORT = 8_080

const port = z
  .string()
  .regex(/^\d+$/, 'must be a whole number')
  .transform(Number)
  .refine((n) => n >= 1 && n <= HIGHEST_PORT, `must be between 1 and ${HIGHEST_PORT}`)

/** How the local stack is told what to do. Everything has a default. */
export interface LocalSettings {
  port: number
  authPort: number
  apiPort: number
  /** Absolute. */
  dataDir: string
  /** undefined: made on the first start. */
  demoPassword: string | undefined
  /** The owner's URL on a Postgres that already runs; undefined: start one. */
  databaseUrl: string | undefined
  /** A Redis that already runs; undefined: start one. */
  redisUrl: string | undefined
  /** base64; undefined: made on the first start. */
  keyEncryptionKey: string | undefined
  /** The address that callers use; default: the gateway's own. */
  issuer: string
  apiResource: string
  logLevel: string
  /** What the services get besides what the stack decides: rate limits and the like. */
  serviceEnv: Record<string, string>
}

/** Decided by the stack for each service, or none of a service's business. */
const NOT_PASSED_ON = new Set([
  'HOST',
  'PORT',
  'AUTH_PORT',
  'API_PORT',
  'DATA_DIR',
  'DEMO_PASSWORD',
  'DATABASE_URL',
  'REDIS_URL',
  'KEY_ENCRYPTION_KEY',
  'ISSUER',
  'API_RESOURCE',
  'TRUSTED_PROXIES',
  'LOG_LEVEL',
])

/** @throws ConfigError naming every variable that is wrong. */
export function localSettings(env: NodeJS.ProcessEnv): LocalSettings {
  const given = readConfig(env, {
    PORT: port.default(DEFAULT_PORT),
    AUTH_PORT: port.optional(),
    API_PORT: port.optional(),
    DATA_DIR: z.string().default('.data'),
    DEMO_PASSWORD: z
      .string()
      .refine((text) => Buffer.byteLength(text) <= PASSWORD_MAX_BYTES, 'is too long')
      .optional(),
    DATABASE_URL: storeUrl(['postgres:', 'postgresql:']).optional(),
    REDIS_URL: storeUrl(['redis:', 'rediss:', 'redis+sentinel:']).optional(),
    KEY_ENCRYPTION_KEY: keyEncryptionKey.optional(),
    ISSUER: httpUrl.optional(),
    API_RESOURCE: httpUrl.optional(),
    LOG_LEVEL: z.string().default('warn'),
  })
  const { PORT, AUTH_PORT = PORT + 1, API_PORT = PORT + 2 } = given
  requireDistinctPorts([PORT, AUTH_PORT, API_PORT])
  const baseUrl = `http://localhost:${PORT}`
  return {
    port: PORT,
    authPort: AUTH_PORT,
    apiPort: API_PORT,
    dataDir: resolve(given.DATA_DIR),
    demoPassword: given.DEMO_PASSWORD,
    databaseUrl: given.DATABASE_URL,
    redisUrl: given.REDIS_URL,
    keyEncryptionKey: given.KEY_ENCRYPTION_KEY?.toString('base64'),
    issuer: given.ISSUER ?? baseUrl,
    apiResource: given.API_RESOURCE ?? baseUrl,
    logLevel: given.LOG_LEVEL,
    serviceEnv: Object.fromEntries(
      Object.entries(env).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && !NOT_PASSED_ON.has(entry[0]),
      ),
    ),
  }
}

function requireDistinctPorts(ports: number[]): void {
  if (ports.some((n) => n > HIGHEST_PORT))
    throw new ConfigError('PORT: must leave room for AUTH_PORT and API_PORT, which follow it by default')
  if (new Set(ports).size < ports.length)
    throw new ConfigError('PORT, AUTH_PORT, API_PORT: must be three different ports')
}
