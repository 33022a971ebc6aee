import cluster from 'node:cluster'
import type { Log } from './log.ts'

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
  'CALLBACK_DENY_RANGES',
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
const OUR_PREFIX = /^RATE_/
const FILE_SUFFIX = /_FILE$/
/** Shorter names are too close to one another, and to those of other programs. */
const JUDGED_FROM_CHARACTERS = 7
const JUDGED_TO_CHARACTERS = 64
const SLIPS_MAX = 2

export interface UnknownSetting {
  variable: string
  /** The name that was probably meant. */
  didYouMean?: string
}

/**
 * The variables that look like settings of this product but are not: each begins like one, or is at most two typos
 * away from one. They are reported, not refused: an older version must still start with a newer setting.
 */
export function unknownSettings(env: Record<string, string | undefined>): UnknownSetting[] {
  const unknown: UnknownSetting[] = []
  for (const variable of Object.keys(env)) {
    const name = variable.replace(FILE_SUFFIX, '')
    if (SETTING_NAMES.has(name)) continue
    const didYouMean = nearest(name.toUpperCase())
    if (didYouMean !== undefined) unknown.push({ variable, didYouMean })
    else if (OUR_PREFIX.test(name)) unknown.push({ variable })
  }
  return unknown
}

/** Logs once, at start, which variables are probably meant for this product but have no effect. */
export function nameUnknownSettings(env: Record<string, string | undefined>, log: Log): void {
  if (!cluster.isPrimary) return
  for (const unknown of unknownSettings(env))
    log.warn({ event: 'setting.unknown', ...unknown }, unknownSentence(unknown))
}

/** One sentence for a person. */
export const unknownSentence = ({ variable, didYouMean }: UnknownSetting): string =>
  `${variable}: is not a known setting${didYouMean === undefined ? '' : `; did you mean ${didYouMean}?`}`

function nearest(name: string): string | undefined {
  if (name.length < JUDGED_FROM_CHARACTERS || name.length > JUDGED_TO_CHARACTERS) return undefined
  let best: { known: string; slips: number } | undefined
  for (const known of SETTING_NAMES) {
    if (known.length < JUDGED_FROM_CHARACTERS || Math.abs(known.length - name.length) > SLIPS_MAX) continue
    const slips = distance(name, known)
    if (slips <= SLIPS_MAX && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) best = { known, slips }
  }
  return best?.known
}

/** Insertions, deletions and substitutions that turn `a` into `b` (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substituted)
    }
    row = next
  }
  return row[b.length] ?? 0
}
