import { resolve } from 'node:path'
import { ConfigError, readConfig } from '#shared/process/config.ts'
import { LOCAL_SHAPE } from '../local-settings.ts'

/** Set by the stack for each service, or unused by services. */
const NOT_PASSED_ON = new Set([
  ...Object.keys(LOCAL_SHAPE),
  'HOST',
  'METRICS_HOST',
  'METRICS_PORT',
  'TRUSTED_PROXIES',
])

const LAST_PORT = 65_535

/** Settings that a service does not get. The authorization server must not get the API's secrets. */
const OTHER_SERVICES_SETTINGS = {
  auth: /^(?:MAIL_|OPENID_|SMTP_|RATE_(?!TOKEN_|INTROSPECTIONS_|ASSERTIONS_|REDIS_))/,
  api: /^RATE_(?:TOKEN|INTROSPECTIONS|ASSERTIONS)_/,
}

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
  requireDistinctPorts(ports)
  const baseUrl = `http://localhost:${PORT}`
  const isPassedOn = (name: string, service: 'auth' | 'api'): boolean =>
    !NOT_PASSED_ON.has(name.replace(/_FILE$/, '')) && !OTHER_SERVICES_SETTINGS[service].test(name)
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
    /** Whether mails go to a server of the user's own. */
    hasSmtp: Boolean(env.SMTP_URL || env.SMTP_URL_FILE),
    /** Returns what is passed on to a service, such as its rate limits. */
    serviceEnv: (service: 'auth' | 'api'): Record<string, string> => ({
      DRAIN_DELAY_S: '0',
      ...Object.fromEntries(
        Object.entries(env).filter(
          (entry): entry is [string, string] => entry[1] !== undefined && isPassedOn(entry[0], service),
        ),
      ),
    }),
  }
}

/** @throws ConfigError that names a port that another has, or that its default puts beyond the last. */
function requireDistinctPorts(ports: Record<string, number>): void {
  const names = new Map<number, string>()
  for (const [name, port] of Object.entries(ports)) {
    const fault = port > LAST_PORT ? `more than ${LAST_PORT}` : names.has(port) && `as ${names.get(port)} is`
    if (fault) throw new ConfigError(`${name} is ${port}, ${fault}: set ${name} or PORT to another port.`)
    names.set(port, name)
  }
}
