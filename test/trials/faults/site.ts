import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'
import { through } from '../../support/revocation.ts'
import type { TestRedis } from '../../support/servers.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'

/** Rates that are counted but never reached. */
const ROOMY = '100000000/60'
const READY_DEADLINE_MS = 180_000
const READY_POLL_MS = 50

/** One process of a service of ours, or of somebody else who verifies our tokens. */
export interface Site {
  /** `auth 1` */
  name: string
  service: 'auth' | 'api' | 'outside'
  url: string
  /** Whether the process was stopped or gone at any moment between the two (of performance.now()). */
  wasDown(from_ms: number, to_ms: number): boolean
  /** How it ended without having been killed; undefined while all is well. */
  crash(): string | undefined
  kill(): Promise<void>
  /** Starts it again on its port, and resolves when it is ready. */
  restart(): Promise<void>
  /** Pauses the process. @returns a function that resumes it. */
  freeze(): () => void
  close(): Promise<void>
}

/** One of our own, with its stretches of network to the stores. */
export interface ServiceSite extends Site {
  redis: TcpProxy
  postgres: TcpProxy
}

export interface SiteStores {
  ownerUrl: string
  roles: { integration_auth: string; integration_api: string }
  redis: TestRedis
  encryptionKey: Buffer
}

export interface SiteOptions {
  service: 'auth' | 'api'
  number: number
  stores: SiteStores
  /** The one address by which the world knows both services. */
  baseUrl: string
  /** The authorization process whose key set an API process fetches. */
  jwksFrom: Pick<Site, 'url'> | undefined
}

export async function createSite(options: SiteOptions): Promise<ServiceSite> {
  const { service, number, stores, baseUrl, jwksFrom } = options
  const database = new URL(stores.ownerUrl)
  const [redis, postgres] = await Promise.all([
    createTcpProxy(stores.redis.port),
    createTcpProxy(Number(database.port)),
  ])
  database.username = `integration_${service}`
  database.password = stores.roles[`integration_${service}`]
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    DATABASE_URL: through(database.href, postgres),
    REDIS_URL: through(stores.redis.url(service), redis),
    ISSUER: baseUrl,
    API_RESOURCE: baseUrl,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'error',
    ...(service === 'auth'
      ? {
          KEY_ENCRYPTION_KEY: stores.encryptionKey.toString('base64'),
          RATE_TOKEN_PER_CLIENT: ROOMY,
          RATE_TOKEN_REVOCATIONS_PER_CLIENT: ROOMY,
          RATE_TOKEN_REVOCATIONS_PER_COMPANY: ROOMY,
          RATE_TOKEN_FAILURES_PER_ADDRESS: ROOMY,
        }
      : {
          JWKS_URL: `${jwksFrom?.url}/v1/oauth/jwks`,
          RATE_API_PER_CLIENT: ROOMY,
          RATE_API_EVENTS_PER_CLIENT: ROOMY,
          RATE_API_PER_SESSION: ROOMY,
          RATE_CHANGES_PER_COMPANY: ROOMY,
          RATE_CLIENT_CREATIONS_PER_COMPANY: ROOMY,
        }),
  }
  const site = await startSite({ name: `${service} ${number}`, service, url }, () =>
    startServiceChild(`apps/${service}/main.ts`, env),
  )
  const close = async () => {
    await site.close()
    await Promise.all([redis.close(), postgres.close()])
  }
  return { ...site, redis, postgres, close }
}

type Fixed = Pick<Site, 'name' | 'service' | 'url'>
type Child = Pick<ServiceChild, 'process' | 'exit' | 'stderr'>

/** Starts the process and waits until it is ready. */
export async function startSite(fixed: Fixed, start: () => Child): Promise<Site> {
  const site = superviseSite(fixed, start)
  await site.restart().catch(async (error) => {
    await site.close()
    throw error
  })
  return site
}

function superviseSite(fixed: Fixed, start: () => Child): Site {
  const { name } = fixed
  const downs: { from_ms: number; to_ms: number }[] = []
  let child: Child | undefined
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

  async function end(): Promise<void> {
    expected = true
    child?.process.kill('SIGKILL')
    await child?.exit
  }

  return {
    ...fixed,
    wasDown: (from_ms, to_ms) => downs.some((span) => span.from_ms <= to_ms && from_ms <= span.to_ms),
    crash: () => crashed,
    async kill() {
      up = down()
      await end()
    },
    async restart() {
      expected = false
      const started = start()
      child = started
      void started.exit.then(({ code, signal }) => {
        if (!expected) crashed = `${name} ended with ${code ?? signal}: ${started.stderr().slice(-500)}`
      })
      await becomesReady(fixed, () => crashed)
      up()
    },
    freeze() {
      const thawed = down()
      child?.process.kill('SIGSTOP')
      return () => {
        child?.process.kill('SIGCONT')
        thawed()
      }
    },
    close: end,
  }
}

async function becomesReady({ name, url }: Fixed, crash: () => string | undefined): Promise<void> {
  for (const end = performance.now() + READY_DEADLINE_MS; ; await sleep(READY_POLL_MS)) {
    const signal = AbortSignal.timeout(READY_DEADLINE_MS)
    const [ready, said] = await fetch(`${url}/readyz`, { signal }).then(
      async (response) => [response.ok, await response.text()] as const,
      (error: Error) => [false, String(error.cause ?? error.message)] as const,
    )
    if (ready) return
    const late =
      performance.now() > end ? `${name} is not ready after ${READY_DEADLINE_MS} ms: ${said}` : undefined
    const reason = crash() ?? late
    if (reason) throw new Error(reason)
  }
}
