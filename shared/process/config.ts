import { BlockList, isIP } from 'node:net'
import { z } from 'zod'

/** A process's settings are wrong. `message` lists every problem, a line each, and holds no value. */
export class ConfigError extends Error {}

type Env = Record<string, string | undefined>

/**
 * Reads a process's settings from its environment, once.
 * @throws ConfigError naming every variable that is missing or wrong, all at once, without its value.
 */
export function readConfig<T extends z.ZodRawShape>(env: Env, shape: T): Readonly<z.infer<z.ZodObject<T>>> {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  )
  const result = z.object(shape).safeParse(given)
  if (result.success) return Object.freeze(result.data)
  const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`The configuration is not usable:\n  ${problems.join('\n  ')}`)
}

const wholeNumber = z.string().regex(/^\d+$/, 'must be a whole number').transform(Number)

export const integer = (min: number, max: number, fallback: number) =>
  wholeNumber.refine((n) => n >= min && n <= max, `must be between ${min} and ${max}`).default(fallback)

export const httpUrl = z.string().refine((text) => {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !text.endsWith('/')
}, 'must be an http(s) URL without query, fragment or trailing slash')

export const storeUrl = (protocols: string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    )

/** `600/60`: at most 600 in any window of 60 seconds. */
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
      if (!Number.isInteger(length) || length < 0 || length > width) {
        const message = 'must be IP addresses or CIDR ranges, separated by commas'
        context.addIssue({ code: 'custom', message })
      }
      return `${address}/${length}`
    })
  })

/** The addresses of the proxies whose X-Forwarded-For and X-Request-Id are believed. */
const addressRanges = addressRangeList.transform((ranges) => {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', length] = range.split('/')
    list.addSubnet(address, Number(length), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
})

const KEY_ENCRYPTION_KEY = /^[A-Za-z0-9+/]{43}=$/

/** 32 bytes in base64. */
export const keyEncryptionKey = z
  .string()
  .regex(KEY_ENCRYPTION_KEY, 'must be 32 bytes in base64')
  .transform((text) => Buffer.from(text, 'base64'))

/** Settings that both services have. */
export const commonShape = {
  HOST: z.string().default('127.0.0.1'),
  PROCESSES: integer(1, 256, 1),
  DATABASE_URL: storeUrl(['postgres:', 'postgresql:']),
  DATABASE_POOL_SIZE: integer(1, 200, 10),
  REDIS_URL: storeUrl(['redis:', 'rediss:', 'redis+sentinel:']),
  REVOCATION_REDIS_URL: storeUrl(['redis:', 'rediss:', 'redis+sentinel:']).optional(),
  ISSUER: httpUrl,
  API_RESOURCE: httpUrl,
  TRUSTED_PROXIES: addressRanges,
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
}
