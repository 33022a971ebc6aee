import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'
import { through } from '../../support/revocation.ts'
import type { TestRedis } from '../../support/servers.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'

/** Rates that are counted but never reached. */
const ROOMY = '100000000/60'
const RATES = {
  auth: [
    'RATE_TOKEN_PER_CLIENT',
    'RATE_TOKEN_REVOCATIONS_PER_CLIENT',
    'RATE_TOKEN_REVOCATIONS_PER_COMPANY',
    'RATE_TOKEN_FAILURES_PER_ADDRESS',
  ],
  api: [
    'RATE_API_PER_CLIENT',
    'RATE_API_EVENTS_PER_CLIENT',
    'RATE_API_PER_SESSION',
    'RATE_CHANGES_PER_COMPANY',
    'RATE_CLIENT_CREATIONS_PER_COMPANY',
  ],
}
const READY_DEADLINE_MS = 180_000

/** One process of a service of ours, or of somebody else who verifies our tokens. */
export type Site = Awaited<ReturnType<typeof startSite>>
/** One of our own, with its stretches of network to the stores. */
export type ServiceSite = Awaited<ReturnType<typeof createSite>>

export interface SiteOptions {
  service: 'auth' | 'api'
  number: number
  ownerUrl: string
  passwords: { integration_auth: string; integration_api: string }
  redis: TestRedis
  encryptionKey: Buffer
  /** The one address by which the world knows both services. */
  baseUrl: string
  /** The authorization process whose key set an API process fetches. */
  jwksFrom: Pick<Site, 'url'> | undefined
}

export async function createSite({ service, number, ...options }: SiteOptions) {
  const { encryptionKey, baseUrl, jwksFrom } = options
  const database = new URL(options.ownerUrl)
  const redis = await createTcpProxy(options.redis.port)
  const postgres = await createTcpProxy(Number(database.port))
  database.username = `integration_${service}`
  database.password = options.passwords[`integration_${service}`]
  const port = await freePort()
  const env = {
    DATABASE_URL: through(database.href, postgres),
    REDIS_URL: through(options.redis.url(service), redis),
    ISSUER: baseUrl,
    API_RESOURCE: baseUrl,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'error',
    ...(service === 'auth'
      ? { KEY_ENCRYPTION_KEY: encryptionKey.toString('base64') }
      : { JWKS_URL: `${jwksFrom?.url}/v1/oauth/jwks` }),
    ...Object.fromEntries(RATES[service].map((rate) => [rate, ROOMY])),
  }
  const fixed = { name: `${service} ${number}`, service, url: `http://127.0.0.1:${port}` }
  const site = await startSite(fixed, () => startServiceChild(`apps/${service}/main.ts`, env))
  const close = async () => {
    await site.close()
    await Promise.all([redis.close(), postgres.close()])
  }
  return { ...site, redis, postgres, close }
}

interface Fixed {
  /** `auth 1` */
  name: string
  service: 'auth' | 'api' | 'outside'
  url: string
}

/** Starts the process and waits until it is ready. */
export async function startSite(fixed: Fixed, start: () => ServiceChild) {
  const { name, url } = fixed
  const downs: { from_ms: number; to_ms: number }[] = []
  let child: ServiceChild | undefined
  let expected = false
  let crashed: string | undefined

  function down(): () => void {
    const span = { from_ms: performance.now(), to_ms: Number.POSITIVE_INFINITY }
    downs.push(span)
    return () => {
      span.to_ms = performance.now()
    }
  }
  let up = down()

  async function close(): Promise<void> {
    expected = true
    child?.process.kill('SIGKILL')
    await child?.exit
  }

  /** Starts it again on its port, and resolves when it is ready. */
  async function restart(): Promise<void> {
    expected = false
    const started = start()
    child = started
    void started.exit.then(({ code, signal }) => {
      if (!expected) crashed = `${name} ended with ${code ?? signal}: ${started.stderr().slice(-500)}`
    })
    let said = 'nothing'
    await eventually(
      async () => {
        if (crashed) throw new Error(crashed)
        const response = await fetch(`${url}/readyz`).catch(() => undefined)
        said = (await response?.text()) ?? said
        return response?.ok
      },
      { limit_ms: READY_DEADLINE_MS, otherwise: () => `${name} is not ready and says ${said}` },
    )
    up()
  }

  await restart().catch(async (error) => {
    await close()
    throw error
  })
  return {
    ...fixed,
    /** Whether the process was stopped or gone at any moment between the two (of performance.now()). */
    wasDown: (from_ms: number, to_ms: number) =>
      downs.some((span) => span.from_ms <= to_ms && from_ms <= span.to_ms),
    /** How it ended without having been killed; undefined while all is well. */
    crash: () => crashed,
    async kill() {
      up = down()
      await close()
    },
    restart,
    /** Pauses the process. @returns a function that resumes it. */
    freeze() {
      const thawed = down()
      child?.process.kill('SIGSTOP')
      return () => {
        child?.process.kill('SIGCONT')
        thawed()
      }
    },
    close,
  }
}
