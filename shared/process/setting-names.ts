import { misspeltSettings } from './misspelt.ts'

/**
 * Every variable that a program of this product reads. Each program knows them all: it can tell a misspelt
 * name from one meant for another program.
 */
export const SETTING_NAMES: ReadonlySet<string> = new Set([
  'API_METRICS_PORT',
  'API_PORT',
  'API_RESOURCE',
  'AUTH_METRICS_PORT',
  'AUTH_PORT',
  'BUILT_IN_ACCOUNTS',
  'CALLBACK_DENY_RANGES',
  'DATABASE_POOLER',
  'DATABASE_POOL_SIZE',
  'DATABASE_URL',
  'DATA_DIR',
  'DEMO_PASSWORD',
  'DRAIN_DELAY_S',
  'EVENT_RETENTION_DAYS',
  'HOST',
  'INTEGRATION_API_PASSWORD',
  'INTEGRATION_AUTH_PASSWORD',
  'ISSUER',
  'JWKS_URL',
  'KEY_ENCRYPTION_KEY',
  'LOG_LEVEL',
  'METRICS_HOST',
  'METRICS_PORT',
  'OPENID_CLIENT_ID',
  'OPENID_CLIENT_SECRET',
  'OPENID_COMPANIES',
  'OPENID_COMPANY_CLAIM',
  'OPENID_EMAIL_VERIFIED',
  'OPENID_ISSUER',
  'OPENID_LINK_BY_EMAIL',
  'OPENID_NAME',
  'OPENID_ROLES',
  'OPENID_ROLE_CLAIM',
  'OPENID_SCOPE',
  'PORT',
  'PROCESSES',
  'RATE_API_EVENTS_PER_CLIENT',
  'RATE_API_PER_CLIENT',
  'RATE_API_PER_SESSION',
  'RATE_CALLBACK_TEST_PER_COMPANY',
  'RATE_SESSION_GUESSES_PER_ADDRESS',
  'RATE_SIGN_IN_PER_ACCOUNT',
  'RATE_SIGN_IN_PER_ADDRESS',
  'RATE_SIGN_IN_STRANGERS_PER_ACCOUNT',
  'RATE_TOKEN_FAILURES_PER_ADDRESS',
  'RATE_TOKEN_PER_CLIENT',
  'RATE_TOKEN_REVOCATIONS_PER_CLIENT',
  'REDIS_URL',
  'REVOCATION_REDIS_URL',
  'SIGNING_ALG',
  'TRUSTED_PROXIES',
])

/** Only our settings begin like this. */
const OUR_PREFIX = /^(?:OPENID|RATE)_/
const FILE_SUFFIX = /_FILE$/

export interface UnknownSetting {
  variable: string
  /** The name that was probably meant. */
  didYouMean?: string
}

/**
 * The variables that look like settings of this product but are not: each begins like one, or is one but for a typo. They are reported, not refused: an older version must still start with a newer setting.
 */
export function unknownSettings(env: Record<string, string | undefined>): UnknownSetting[] {
  const misspelt = misspeltSettings(env, [...SETTING_NAMES])
  const meant = new Map(misspelt.map((each) => [each.variable, each]))
  return Object.keys(env).flatMap((variable) => {
    const name = variable.replace(FILE_SUFFIX, '')
    const unknown = OUR_PREFIX.test(name) && !SETTING_NAMES.has(name) ? { variable } : undefined
    return meant.get(variable) ?? unknown ?? []
  })
}

/** One sentence for a person. */
export const unknownSentence = ({ variable, didYouMean }: UnknownSetting): string =>
  `${variable}: is not a known setting${didYouMean === undefined ? '' : `; did you mean ${didYouMean}?`}`
