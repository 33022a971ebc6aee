import type { z } from 'zod'
import { addressRangeList, commonShape, httpUrl, integer, rate, readConfig } from '#shared/process/config.ts'
import { EVENT_RETENTION_DAYS_DEFAULT, EVENT_RETENTION_DAYS_MIN } from './analytics/housekeeping.ts'

const shape = {
  ...commonShape,
  PORT: integer(0, 65_535, 8082),
  /** At least one connection for each of the pools in service.ts, and three for decisions. */
  DATABASE_POOL_SIZE: integer(5, 200, 13),
  JWKS_URL: httpUrl.optional(),
  EVENT_RETENTION_DAYS: integer(EVENT_RETENTION_DAYS_MIN, 3_650, EVENT_RETENTION_DAYS_DEFAULT),
  RATE_API_PER_CLIENT: rate('6000/60'),
  RATE_API_EVENTS_PER_CLIENT: rate('600000/60'),
  RATE_SIGN_IN_PER_ACCOUNT: rate('20/300'),
  RATE_SIGN_IN_PER_ADDRESS: rate('100/300'),
  RATE_SIGN_IN_STRANGERS_PER_ACCOUNT: rate('100/86400'),
  RATE_SESSION_GUESSES_PER_ADDRESS: rate('300/60'),
  RATE_API_PER_SESSION: rate('1200/60'),
  RATE_CALLBACK_TEST_PER_COMPANY: rate('20/60'),
  /** Never sent to, besides what is not public: own public addresses, a NAT64 prefix. */
  CALLBACK_DENY_RANGES: addressRangeList,
}

export type ApiConfig = Readonly<z.infer<z.ZodObject<typeof shape>>> & {
  /** Where the authorization server publishes its keys. */
  readonly JWKS_URL: string
}

/** @throws ConfigError naming every variable that is missing or wrong. */
export function readApiConfig(env: Record<string, string | undefined>): ApiConfig {
  const config = readConfig(env, shape)
  return Object.freeze({ ...config, JWKS_URL: config.JWKS_URL ?? `${config.ISSUER}/v1/oauth/jwks` })
}
