import './environment.ts'
import { closeSync, openSync, readSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { getSystemErrorMessage } from 'node:util'
import { z } from 'zod'

/** A process's settings are invalid. `message` lists every problem, one per line, and contains no value. */
export class ConfigError extends Error {}
/** EX_CONFIG of sysexits.h: restarting a program with these settings will not help. */
export const EXIT_CONFIG = 78

export type Env = Record<string, string | undefined>

const SECRET_FILE_MAX_BYTES = 64 * 1_024
/** A variable whose name begins so is meant for a service: an unknown one is a typo or was removed. */
const SERVICE_PREFIX = /^(?:KEY_ENCRYPTION|OPENID|RATE|TRUSTED)_/

/**
 * Reads a process's settings from its environment, once. A setting whose schema says `secret` in its metadata
 * may instead be in the file that `<NAME>_FILE` names; a line break at the end of that file is ignored.
 * @throws ConfigError naming every variable that is missing or wrong, all at once, without its value.
 */
export function readConfig<T extends z.ZodRawShape>(env: Env, shape: T, unknown: string[] = []) {
  const problems = unknown.map((name) => `${name}: is not a setting of this service: rename or remove it`)
  const values: Record<string, string> = {}
  for (const [name, schema] of Object.entries(shape)) {
    const value = env[name]
    const file = env[`${name}_FILE`]
    if (value) values[name] = value
    if (!file) continue
    if (value) problems.push(`${name}: is set twice, directly and by ${name}_FILE: remove one`)
    try {
      if (!z.globalRegistry.get(schema)?.secret)
        throw new Error(`is not read, since ${name} is no secret: set ${name}`)
      values[name] = readSecretFile(file)
    } catch (error) {
      // The system's own message repeats the path, which is the secret if the two settings were confused.
      const { errno, message } = error as NodeJS.ErrnoException
      problems.push(`${name}_FILE: ${errno === undefined ? message : getSystemErrorMessage(errno)}`)
    }
  }
  if (losesTls(env.PGSSLMODE, values.DATABASE_URL))
    problems.push('PGSSLMODE: is not read: say in DATABASE_URL, by sslmode, whether to use TLS')
  const result = z.object(shape).safeParse(values, { error: explain })
  for (const { path, message } of result.error?.issues ?? [])
    if (!problems.some((other) => other.startsWith(`${path}_FILE: `))) problems.push(`${path}: ${message}`)
  if (result.success && problems.length === 0) return Object.freeze(result.data)
  throw new ConfigError(`The configuration is invalid:\n  ${problems.join('\n  ')}`)
}

/** "a, b or c" */
const choices = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/** Returns the message for a fault that its schema has no words for. */
function explain(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_value') return `must be ${choices.format(issue.values.map(String))}`
  if (issue.code !== 'invalid_type' || issue.input === '') return undefined
  const [empty] = z.safeParse(issue.inst as z.ZodType, '', { error: explain }).error?.issues ?? []
  return ['is required', ...(empty ? [empty.message] : [])].join(' and ')
}

/** Reads a service's settings. @throws ConfigError also for a variable that only looks like a setting. */
export function readServiceConfig<T extends z.ZodRawShape>(env: Env, shape: T) {
  const isUnknown = (name: string) => SERVICE_PREFIX.test(name) && !(name.replace(/_FILE$/, '') in shape)
  return readConfig(env, shape, Object.keys(env).filter(isUnknown))
}

/** Whether DATABASE_URL leaves TLS to a PGSSLMODE that asks for it, and the connection would do without. */
const losesTls = (mode = '', databaseUrl = ''): boolean =>
  databaseUrl !== '' &&
  !/^(?:|disable|allow)$/.test(mode) &&
  !/[?&]ssl(?:mode|rootcert|cert|key)?=/.test(databaseUrl)

/** @throws the system's error, or Error when the file is empty or too large to be a secret. */
function readSecretFile(path: string): string {
  const bytes = Buffer.alloc(SECRET_FILE_MAX_BYTES + 1)
  const file = openSync(path, 'r')
  try {
    const length = readSync(file, bytes)
    if (length > SECRET_FILE_MAX_BYTES)
      throw new Error(`names a file of more than ${SECRET_FILE_MAX_BYTES} bytes`)
    const text = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '')
    if (text === '') throw new Error('names an empty file')
    return text
  } finally {
    closeSync(file)
  }
}

/** A whole number, both ends included. */
const between = (min: number, max: number) =>
  z
    .string()
    .refine((n) => /^\d+$/.test(n) && +n >= min && +n <= max, `must be a whole number from ${min} to ${max}`)
    .transform(Number)

export const integer = (min: number, max: number, fallback: number) => between(min, max).default(fallback)

/** A port that a person chooses. */
export const portNumber = between(1, 65_535)

/** The URL of a service inside the installation; outside it, services are reached only over TLS. */
export const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? '') && !/[?#@\s]|\/$/.test(text),
    'must be an http(s) URL without user, query, fragment or trailing slash',
  )

/** Matches the hostname of a parsed URL. */
export const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** What others rely on: https (RFC 8414 §2, RFC 8707 §2), or http on one machine, for evaluation. */
export const publicUrl = httpUrl.refine((text) => {
  const url = URL.parse(text)
  return url?.protocol !== 'http:' || LOOPBACK_HOST.test(url.hostname)
}, 'must be https; http is allowed only for a loopback host')

/** The issuer (RFC 8414 §2). Its metadata is served at its root, so it has no path (§3.1). */
export const issuerUrl = publicUrl.refine(
  (text) => (URL.parse(text)?.pathname ?? '/') === '/',
  'must not have a path',
)

/** A Sentinel or Cluster URL lists hosts, which is more than URL can parse. */
export const withoutFurtherHosts = (text: string): string =>
  text.replace(/^(rediss?\+[a-z]+:[^,]*),[^/?]*/, '$1')

const STORE_URL_START = /^([a-z+]+:)\/\/([^/?#]*)/

/** Drivers take any of their options from a query, and prefer them to the program's. */
const POSTGRES_QUERY = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl', 'uselibpqcompat', 'host']
const SENTINEL_QUERY = ['sentinel_user', 'sentinel_password']

export const storeUrl = (protocols: string[]) =>
  z.string().superRefine((text, context) => {
    const [start = '', protocol = '', authority = ''] = STORE_URL_START.exec(text) ?? []
    const tail = text.slice(start.length)
    const [path = '', query] = tail.split('?')
    const refuse = (message: string) => context.addIssue({ code: 'custom', message })
    const hosts = authority.replace(/^.*@/, '')
    const parameters = new URLSearchParams(query)
    const urls = [withoutFurtherHosts(text), ...hosts.split(',').map((host) => `redis://${host}`)]
    const isSentinel = protocol.includes('+sentinel')
    const allowed = protocol.startsWith('postgres') ? POSTGRES_QUERY : isSentinel ? SENTINEL_QUERY : []
    if (!protocols.includes(protocol))
      refuse(`must be a URL that starts with ${choices.format(protocols.map((p) => `${p}//`))}`)
    // A password with such a character ends the authority, so that its @ comes later.
    else if (/^[^?]*@|#/.test(tail) || (hosts === authority && tail.includes('@'))) refuse(INVALID_STORE_URL)
    else if (hosts.split(',').includes(''))
      refuse('names no host: write localhost before the path, also if ?host= names a socket')
    else if (!protocol.includes('+') && /,|%2c/i.test(`${hosts} ${parameters.getAll('host').join()}`))
      refuse('names several hosts: name one that always leads to the primary')
    else if (/%(?![\da-f]{2})/i.test(authority) || !urls.every((url) => URL.canParse(url)))
      refuse(INVALID_STORE_URL)
    else if (protocol.includes('+') && isSentinel !== /^\/[^/]+$/.test(path))
      refuse('must end with the name of its group, such as /main, if it is for Sentinel, else with its hosts')
    else if ([...parameters.keys()].some((name) => !allowed.includes(name)))
      refuse(allowed.length > 0 ? `may have only ${allowed.join(', ')} in its query` : REDIS_QUERY)
  })

const REDIS_QUERY = 'may have no query: TLS is rediss://, and another database is a path, such as /1'
const INVALID_STORE_URL =
  'is not a valid URL: percent-encode its password (# is %23, % is %25, / is %2F, ? is %3F, @ is %40), ' +
  'and check its port'

/** `600/60`: at most 600 per fixed window of 60 s, so up to 1,200 within 60 s that span two windows. */
export const rate = (fallback: string) =>
  z
    .string()
    .regex(/^[1-9]\d{0,8}\/[1-9]\d{0,5}$/, 'must be limit/windowSeconds, such as 600/60')
    .default(fallback)
    .transform((text) => {
      const [limit, window_s] = text.split('/').map(Number)
      return { limit: limit as number, window_s: window_s as number }
    })

/** `10.0.0.0/8,::1` as CIDR ranges; a single address is a range of its own. */
export const addressRangeList = z
  .string()
  .default('')
  .transform((text, context) => {
    const ranges = text.split(',').map((part) => part.trim())
    return ranges.filter(Boolean).map((range) => {
      const [address = '', bits] = range.split('/')
      const width = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
      const length = bits === undefined ? width : Number(bits || 'none')
      if (!Number.isInteger(length) || length < 0 || length > width)
        context.addIssue('must be IP addresses or CIDR ranges, separated by commas')
      return `${address}/${length}`
    })
  })

/** The proxies whose header fields are trusted; no private range is wider than /7. */
const addressRanges = addressRangeList
  .refine(
    (ranges) => ranges.every((range) => Number(range.split('/')[1]) >= 7),
    'must not hold a range wider than /7: whoever is in it chooses its own address for every limit',
  )
  .transform((ranges) => {
    const list = new BlockList()
    for (const range of ranges) {
      const [address = '', length] = range.split('/')
      list.addSubnet(address, Number(length), isIP(address) === 6 ? 'ipv6' : 'ipv4')
    }
    return list
  })

const ZEROS = Buffer.alloc(32).toString('base64')
const KEY_LIST = /^[A-Za-z0-9+/]{43}=(?:,[A-Za-z0-9+/]{43}=){0,7}$/

/** One key of 32 bytes in base64, or several, separated by commas, newest first: the first encrypts. */
export const keyEncryptionKey = z
  .string()
  .regex(KEY_LIST, 'must be 32 bytes in base64 (openssl rand -base64 32), or several, separated by commas')
  .refine((text) => !text.startsWith(ZEROS), 'must be random: openssl rand -base64 32')
  .transform((text) => text.split(',').map((key) => Buffer.from(key, 'base64')))

const DRAIN_DELAY_MAX_S = 300
export const REDIS_PROTOCOLS = ['redis:', 'rediss:', 'redis+sentinel:', 'rediss+sentinel:']
export const RATE_REDIS_PROTOCOLS = [...REDIS_PROTOCOLS, 'redis+cluster:', 'rediss+cluster:']

/** Settings that both services have. */
export const commonShape = {
  HOST: z.string().default('127.0.0.1').meta({ description: 'address to listen on' }),
  PROCESSES: integer(1, 256, 1).meta({ description: 'processes that share the port; one per core is best' }),
  DATABASE_URL: storeUrl(['postgres:', 'postgresql:']).meta({
    secret: true,
    description: 'the Postgres primary, as `integration_auth` or `integration_api`',
  }),
  DATABASE_POOLER: z.enum(['none', 'transaction']).default('none').meta({
    description: '`transaction` if DATABASE_URL points at PgBouncer in transaction mode (or similar)',
  }),
  DATABASE_POOL_SIZE: integer(1, 200, 10).meta({ description: 'database connections per process' }),
  REDIS_URL: storeUrl(REDIS_PROTOCOLS).meta({
    secret: true,
    description:
      '`redis://user:password@host` or `redis+sentinel://user:password@host:26379,…/name?sentinel_user=…&sentinel_password=…`; with TLS: `rediss`',
  }),
  REVOCATION_REDIS_URL: storeUrl(REDIS_PROTOCOLS)
    .optional()
    .meta({ secret: true, fallback: '`REDIS_URL`', description: 'a separate server for revocations' }),
  RATE_REDIS_URL: storeUrl(RATE_REDIS_PROTOCOLS).optional().meta({
    secret: true,
    fallback: '`REDIS_URL`',
    description:
      'a separate server for rates and requests, or a cluster: `redis+cluster://user:password@host,…`',
  }),
  ISSUER: issuerUrl.meta({
    description:
      'public address of the authorization server, used as `iss` in tokens and in metadata; https, no path',
  }),
  API_RESOURCE: publicUrl.meta({ description: "the API's identifier, used as `aud` in tokens; https" }),
  TRUSTED_PROXIES: addressRanges.meta({
    description:
      'proxy addresses and ranges whose TRUSTED_PROXY_HEADER, X-Request-Id and traceparent are trusted; if your proxy is not listed, rate limits see all callers as one address',
  }),
  TRUSTED_PROXY_HEADER: z.enum(['X-Forwarded-For', 'Forwarded']).default('X-Forwarded-For').meta({
    description:
      'where every trusted proxy writes its caller; `Forwarded` is RFC 7239. The other is not read',
  }),
  KEEP_ALIVE_TIMEOUT_S: integer(5, 86_400, 130).meta({
    unit: 's',
    description:
      'how long an idle connection stays open; if the proxy keeps it longer, some requests get 502',
  }),
  DRAIN_DELAY_S: integer(0, DRAIN_DELAY_MAX_S, 5).meta({
    unit: 's',
    description: 'how long requests are still accepted after SIGTERM, while `/readyz` answers 503',
  }),
  METRICS_PORT: portNumber
    .optional()
    .meta({ fallback: 'none', description: 'port that serves only `/metrics`' }),
  METRICS_HOST: z.string().default('127.0.0.1').meta({ description: 'address to serve `/metrics` on' }),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .meta({ description: 'trace, debug, info, warn, error or silent; the audit trail needs `info`' }),
}

const UNENCRYPTED = { event: 'store.unencrypted', problem: 'leads to another machine without TLS' } as const
const UNVERIFIED = {
  event: 'store.unverified',
  problem: 'accepts any certificate of another machine',
} as const

/** Returns how the way to a store on another machine is unprotected, if it is. */
export function storeWeakness(text: string): typeof UNENCRYPTED | typeof UNVERIFIED | undefined {
  const url = URL.parse(withoutFurtherHosts(text))
  // As in pg, the last of several values counts, and a host in the query.
  const query: Record<string, string> = Object.fromEntries(url?.searchParams ?? [])
  const host = query.host || url?.hostname || ''
  if (!url || /^(?:\/|%2f)/i.test(host) || LOOPBACK_HOST.test(host)) return undefined
  if (url.protocol.startsWith('redis')) return url.protocol.startsWith('rediss') ? undefined : UNENCRYPTED
  const { ssl = '', sslmode, sslrootcert, sslcert, sslkey, uselibpqcompat } = query
  const asksForTls = sslmode || sslrootcert || sslcert || sslkey || !['', '0'].includes(ssl)
  if (sslmode === 'disable' || !asksForTls) return UNENCRYPTED
  const isLax = uselibpqcompat === 'true' && (sslmode === 'prefer' || (sslmode === 'require' && !sslrootcert))
  return isLax || [ssl, sslmode].includes('no-verify') ? UNVERIFIED : undefined
}

export type CommonConfig = Readonly<z.infer<z.ZodObject<typeof commonShape>>> & { readonly PORT: number }
