import { join } from 'node:path'
import { systemClock } from '#shared/process/clock.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { migrate, OtherVersion } from '../database/migrate.ts'
import { heartbeat } from '../progress.ts'
import { AUDIT_FILE, type DataDir } from './data-dir.ts'
import { type DemoClient, demoClient } from './demo-client.ts'
import { Failure } from './failure.ts'
import { startGateway } from './gateway/gateway.ts'
import { builtPages, type Pages } from './gateway/pages.ts'
import type { Part, Parts } from './parts.ts'
import { redisServer } from './redis-binary.ts'
import { writeRunning } from './running.ts'
import { type LocalSecrets, localSecrets } from './secrets.ts'
import { holdsOnlyOthers, seed } from './seed/seed.ts'
import { type RunningService, startService } from './service.ts'
import type { LocalSettings } from './settings.ts'
import {
  givenPostgres,
  givenRedis,
  ownPostgres,
  ownRedis,
  type PostgresStore,
  type Store,
  type StoreOptions,
} from './stores.ts'
import { createTrail } from './trail.ts'
import { builtWorkspace } from './workspace-build.ts'

const ROOT = join(import.meta.dirname, '../..')

export interface LocalStackOptions {
  settings: LocalSettings
  /** Restart a service when its code changes, and serve the screens from their sources. */
  watch?: boolean
  /** Receives a progress line for each step. */
  say: (line: string) => void
  /** Receives the services' output. */
  output: NodeJS.WritableStream
  /** Stops the start at the next step. */
  signal?: AbortSignal
}

export interface LocalStack {
  baseUrl: string
  authUrl: string
  apiUrl: string
  /** Where the audit events are kept, one JSON object per line. */
  auditFile: string
  demoClient: DemoClient
  /** The demo users' password, if this start set it. */
  demoPassword: string | undefined
  stores: { postgres: PostgresStore; redis: Store }
  services: { auth: RunningService; api: RunningService }
  /** Resolves with a sentence when a part exits without being stopped. */
  failed: Promise<string>
}

/** Starts the product on this data folder. @throws Failure with a sentence for the person who started it. */
export async function startStackOn(
  dataDir: DataDir,
  parts: Parts,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { say, signal } = options
  const secrets = await localSecrets(dataDir)
  say(`Data: in ${dataDir.path}`)

  const ends = watchExits(parts)
  const ready = bringUp(
    parts,
    { ...options, signal: AbortSignal.any([ends.signal, ...(signal ? [signal] : [])]) },
    { dataDir, secrets, ends },
  )
  return ready.catch((error) => {
    throw ends.signal.aborted ? ends.signal.reason : error
  })
}

async function bringUp(
  parts: Parts,
  options: LocalStackOptions,
  { dataDir, secrets, ends }: { dataDir: DataDir; secrets: LocalSecrets; ends: ExitWatch },
): Promise<LocalStack> {
  const { settings, say, signal } = options
  const { databaseUrl, redisUrl } = settings
  const own = { dataDir, secrets, say }
  // Postgres is initialised once a Redis server is found, which may need a mirror, so that a failure leaves nothing.
  const redisFound = redisUrl ? Promise.resolve() : redisServer(say)
  const { postgres, redis, screens } = await together(say, {
    postgres: started(
      parts,
      databaseUrl ? givenPostgres(databaseUrl, secrets) : redisFound.then(() => ownPostgres(own)),
    ),
    redis: started(parts, redisUrl ? givenRedis(redisUrl) : redisFound.then(() => ownRedis(own))),
    screens: options.watch ? watchedPages(parts, own) : builtWorkspace(ROOT, say).then(builtPages),
  })
  ends.watch('Postgres', postgres.ended)
  ends.watch('Redis', redis.ended)
  signal?.throwIfAborted()
  await migrateTo(postgres, { secrets, say })
  const filling = fill(postgres, { dataDir, secrets, options })
  const { seeded, client } = await heartbeat(say, () => 'Demo data: being added', filling)
  signal?.throwIfAborted()
  const running = {
    databaseUrl: postgres.operatorUrl,
    ownerUrl: postgres.ownerUrl,
    redisUrl: redis.ownerUrl,
    keyEncryptionKey: settings.keyEncryptionKey ?? secrets.keyEncryptionKey,
  }
  const auditFile = dataDir.at(AUDIT_FILE)
  const services = await startServices(parts, options, {
    stores: { postgres, redis },
    keyEncryptionKey: running.keyEncryptionKey,
    auditFile,
    ends,
  })
  signal?.throwIfAborted()
  const gateway = await startGateway({
    port: settings.ports.PORT,
    auth: services.auth.url,
    api: services.api.url,
    pages: screens,
    apiResource: settings.apiResource,
  })
  parts.add(gateway, await writeRunning(dataDir, running))
  return {
    baseUrl: settings.baseUrl,
    authUrl: services.auth.url,
    apiUrl: services.api.url,
    auditFile,
    demoClient: client,
    demoPassword: seeded.password,
    stores: { postgres, redis },
    services,
    failed: ends.failed,
  }
}

/** Vite is a development package, so only `npm run dev` loads it. */
const watchedPages = async (
  parts: Parts,
  { dataDir, say }: Pick<StoreOptions, 'dataDir' | 'say'>,
): Promise<Pages> => {
  const { startVite } = await import('./vite-pages.ts')
  const vite = await startVite(join(ROOT, 'apps/workspace'), dataDir.at('vite'))
  parts.add(vite)
  say('Changes: a service restarts, a screen is updated in the open page')
  return vite.pages
}

async function started<T extends Part>(parts: Parts, starting: Promise<T>): Promise<T> {
  const part = await starting
  parts.add(part)
  return part
}

/** All results, or the first failure once none of them is still running. Says what still is. */
async function together<T extends Record<string, unknown>>(
  say: (line: string) => void,
  work: { [Name in keyof T]: Promise<T[Name]> },
): Promise<T> {
  const running = new Set(Object.keys(work))
  const ended = Object.entries(work).map(([name, each]) => each.finally(() => running.delete(name)))
  await heartbeat(say, () => `Waiting for: ${[...running].join(', ')}`, Promise.allSettled(ended))
  const results = Object.entries(work).map(async ([name, each]) => [name, await each])
  return Object.fromEntries(await Promise.all(results))
}

async function migrateTo(
  { ownerUrl }: Store,
  { secrets, say }: { secrets: LocalSecrets; say: (line: string) => void },
): Promise<void> {
  // A real installation, where demo users would be strangers with access.
  if (await asOwner(ownerUrl, holdsOnlyOthers))
    throw new Failure(
      'The database of DATABASE_URL already has companies, none of them from the demo. npm start is only for demos: it would add demo users to it and change the passwords of its roles.',
    )
  const { postgres: _, ...passwords } = secrets.postgres
  const migrating = heartbeat(say, () => 'Database: migrating', migrate({ ownerUrl, passwords }))
  const names = await migrating.catch((error) => {
    throw error instanceof OtherVersion ? new Failure(error.message) : error
  })
  say(`Database: ${names.length > 0 ? `${names.length} migrations run` : 'up to date'}`)
}

async function asOwner<T>(
  url: string,
  work: (db: Database) => Promise<T>,
  activityLog = (_entry: object): void => {},
): Promise<T> {
  const db = createPostgres({ url, poolSize: 1, applicationName: 'integration-local', activityLog })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}

/** Adds the demo companies and the demo client. */
const fill = (
  { ownerUrl }: Store,
  { dataDir, secrets, options }: { dataDir: DataDir; secrets: LocalSecrets; options: LocalStackOptions },
) =>
  asOwner(
    ownerUrl,
    async (db) => {
      const seeded = await seed({ db, clock: systemClock, password: options.settings.demoPassword })
      options.say(
        `Demo data: ${seeded.days > 0 ? `${seeded.days} days of analytics added for each company` : 'complete'}`,
      )
      const client = await demoClient({ db, dataDir, secrets, baseUrl: options.settings.baseUrl })
      return { seeded, client }
    },
    createTrail({ auditFile: dataDir.at(AUDIT_FILE), stderr: process.stderr }),
  )

/** Each service refuses settings of the other, and the authorization server must not get the API's secrets. */
const OF_OTHER_SERVICE = {
  auth: /^(?:OPENID_|RATE_(?!TOKEN_|INTROSPECTIONS_))/,
  api: /^RATE_(?:TOKEN|INTROSPECTIONS)_/,
}

/** Each service gets its own database role and Redis user; only the authorization server gets the key encryption key. */
async function startServices(
  parts: Parts,
  { settings, say, output, signal, watch }: LocalStackOptions,
  about: Pick<LocalStack, 'stores' | 'auditFile'> & { keyEncryptionKey: string; ends: ExitWatch },
): Promise<LocalStack['services']> {
  const { stores, keyEncryptionKey, auditFile, ends } = about
  const env = (service: 'auth' | 'api') => ({
    ...Object.fromEntries(
      Object.entries(settings.serviceEnv).filter(([name]) => !OF_OTHER_SERVICE[service].test(name)),
    ),
    DATABASE_URL: stores.postgres.serviceUrl(service),
    REDIS_URL: stores.redis.serviceUrl(service),
    ISSUER: settings.issuer,
    API_RESOURCE: settings.apiResource,
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const start = async (service: 'auth' | 'api', name: string, port: number, own: Record<string, string>) => {
    const folder = join(ROOT, 'apps', service)
    const starting = started(
      parts,
      startService({
        name: `The ${name}`,
        program: join(folder, 'main.ts'),
        // The API publishes the authorization server's description.
        watch: watch ? [folder, join(ROOT, 'shared'), join(ROOT, 'apps/auth/openapi.json')] : undefined,
        port,
        env: { ...own, ...env(service) },
        output,
        logLevel: settings.logLevel,
        auditFile,
        signal,
      }),
    )
    const running = await heartbeat(say, () => `The ${name}: starting`, starting)
    ends.watch(`The ${name}`, running.ended)
    say(`The ${name}: on 127.0.0.1:${port}`)
    return running
  }
  const auth = await start('auth', 'authorization server', settings.ports.AUTH_PORT, {
    METRICS_PORT: String(settings.ports.AUTH_METRICS_PORT),
    KEY_ENCRYPTION_KEY: keyEncryptionKey,
  })
  // Started second, since it fetches the authorization server's keys before it is ready.
  const api = await start('api', 'resource API', settings.ports.API_PORT, {
    JWKS_URL: `http://127.0.0.1:${settings.ports.AUTH_PORT}/v1/oauth/jwks`,
    METRICS_PORT: String(settings.ports.API_METRICS_PORT),
  })
  return { auth, api }
}

type ExitWatch = ReturnType<typeof watchExits>

/** Detects a part that exits without being stopped: `failed` resolves, and `signal` is aborted, with a sentence. */
function watchExits(parts: Parts) {
  const abort = new AbortController()
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>()
  return {
    watch(name: string, ended: Promise<string> | undefined) {
      void ended?.then((how) => {
        if (parts.stopping) return
        const sentence = `${name} exited unexpectedly: ${how}`
        fail(sentence)
        abort.abort(new Failure(sentence))
      })
    },
    failed,
    signal: abort.signal,
  }
}
