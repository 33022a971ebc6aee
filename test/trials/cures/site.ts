import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { runAdmin, succeeded } from '../../support/admin.ts'
import { createTestClient } from '../../support/auth.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { repeat } from '../../support/repeat.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { createCalls } from './calls.ts'
import { createInstance } from './instance.ts'
import { startPrometheus, type Targets } from './prometheus.ts'
import { startServers } from './servers.ts'

const ALERT_DEADLINE_MS = 180_000
const LOOK_EVERY_MS = 500
const TRAFFIC_EVERY_MS = 1_000

export type CureSite = Awaited<ReturnType<typeof startCureSite>>

/** Postgres, Redis, two of each service, their Prometheus, and a client that calls each once a second. */
export async function startCureSite() {
  await using starting = new AsyncDisposableStack()
  const folder = await temporaryFolder('integration-access-cures')
  starting.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  const servers = starting.use(await startServers(folder))
  const keyEncryptionKey = randomBytes(32).toString('base64')
  const { auth, api } = await startInstances(starting, servers, keyEncryptionKey)
  const targets: Targets = {
    'integration-auth': auth.map(({ target }) => target),
    'integration-api': api.map(({ target }) => target),
  }
  const prometheus = starting.use(await startPrometheus(folder, targets))
  const calls = createCalls({ auth, api })
  const newClient = () => createTestClient(servers.db, { scopes: ['analytics:read', 'analytics:write'] })
  const regular = await newClient()
  const visit = async (i: number) => {
    const { json } = await calls.token(i, regular)
    await calls.read(i, regular, json?.access_token)
  }
  starting.defer(repeat(TRAFFIC_EVERY_MS, () => Promise.allSettled([visit(0), visit(1)])))
  const started = starting.move()
  return {
    ...servers,
    ...calls,
    folder,
    auth,
    api,
    keyEncryptionKey,
    prometheus,
    targets,
    newClient,
    /** The client that calls once a second. Nobody revokes it. */
    regular,
    /** Waits until an expression gives something, or nothing. */
    async until(expression: string, isTrue: boolean, { later_s = 0, limit_ms = ALERT_DEADLINE_MS } = {}) {
      const otherwise = () => `${isTrue ? 'not true' : 'still true'}: ${expression}`
      const isSo = async () => (await prometheus.isTrue(expression, later_s)) === isTrue
      await eventually(isSo, { limit_ms, every_ms: LOOK_EVERY_MS, otherwise })
    },
    /** Runs a command that begins with `npm run admin -- `, with more arguments at its end. */
    admin: (command: string, ...more: string[]) => {
      const args = command.replace(/^npm run admin -- /, '').split(' ')
      const env = {
        DATABASE_URL: servers.urlOf('integration_operator'),
        REDIS_URL: servers.redis.url('api'),
        KEY_ENCRYPTION_KEY: keyEncryptionKey,
      }
      return succeeded(runAdmin([...args, ...more], { env }))
    },
    /** Ends with the site. */
    use: <T extends AsyncDisposable>(part: T): T => started.use(part),
    /** Acts again and again. Returns a function that ends this, as the site's end does. */
    repeat(pause_ms: number, act: () => unknown): () => Promise<void> {
      const end = repeat(pause_ms, act)
      started.defer(end)
      return end
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function startInstances(
  parts: AsyncDisposableStack,
  { urlOf, redis }: Awaited<ReturnType<typeof startServers>>,
  KEY_ENCRYPTION_KEY: string,
) {
  const issuer = `http://127.0.0.1:${await freePort()}`
  const start = async (service: 'auth' | 'api', settings: Record<string, string>) => {
    const instance = await createInstance(service, {
      DATABASE_URL: urlOf(`integration_${service}`),
      REDIS_URL: redis.url(service),
      ISSUER: issuer,
      API_RESOURCE: issuer,
      TRUSTED_PROXIES: '127.0.0.1',
      ...settings,
    })
    parts.use(instance)
    await instance.start()
    return instance
  }
  const startAuth = () => start('auth', { KEY_ENCRYPTION_KEY })
  const auth = await Promise.all([startAuth(), startAuth()])
  const startApi = ({ url }: { url: string }) =>
    start('api', { JWKS_URL: `${url}/v1/oauth/jwks`, RATE_API_PER_CLIENT: '300/60' })
  return { auth, api: await Promise.all([startApi(auth[0]), startApi(auth[1])]) }
}
