import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '#shared/process/clock.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { createTrail } from '../admin/trail.ts'
import { migrate, OtherVersion } from '../database/migrate.ts'
import { heartbeat, type ShowProgress } from '../progress.ts'
import { RUNNING_FILE, type RunningStack } from '../running-stack.ts'
import { AUDIT_FILE, type DataDir, writePrivateFile } from './data-dir.ts'
import { type DemoClient, ensureDemoClient } from './demo-client.ts'
import { startGateway } from './gateway/gateway.ts'
import { builtPages, type Pages } from './gateway/pages.ts'
import type { Lifecycle, Stoppable } from './lifecycle.ts'
import { type MailSink, startMailSink } from './mail-sink.ts'
import { redisServer } from './redis.ts'
import { type LocalSecrets, localSecrets } from './secrets.ts'
import { holdsOnlyOthers, seed } from './seed/seed.ts'
import { type LocalService, startService } from './service.ts'
import type { LocalSettings } from './settings.ts'
import { StartError } from './start-error.ts'
import {
  attachPostgres,
  attachRedis,
  type PostgresStore,
  type Store,
  type StoreOptions,
  startOwnPostgres,
  startOwnRedis,
} from './stores.ts'
import { buildWorkspace } from './workspace-build.ts'

/** In the data folder, until a card has shown it. */
const PASSWORD_FILE = 'demo-password'
const ROOT = join(import.meta.dirname, '../..')
/** Unless MAIL_FROM says otherwise. */
const DEMO_SENDER = 'Integration Access <integrations@operator.example>'

export interface LocalStackOptions {
  settings: LocalSettings
  /** Restart a service when its code changes, and serve the screens from their sources. */
  watch?: boolean
  /** Receives a progress line for each step. */
  show: ShowProgress
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
  /** Undefined once its company is erased. */
  demoClient: DemoClient | undefined
  /** Where mails are written. undefined: they go to the server of SMTP_URL. */
  mailFolder: string | undefined
  /** The demo users' password, if no start has shown it yet. */
  demoPassword: string | undefined
  /** Forgets the password. Call it once it was shown. */
  forgetPassword(): Promise<void>
  stores: { postgres: PostgresStore; redis: Store }
  services: { auth: LocalService; api: LocalService }
  /** Resolves with a sentence when a part exits without being stopped. */
  failed: Promise<string>
}

/** Starts the product on this data folder. @throws StartError with a sentence for whoever started it. */
export async function startStackOn(
  dataDir: DataDir,
  lifecycle: Lifecycle,
  options: LocalStackOptions,
): Promise<LocalStack> {
  const { show, signal } = options
  const secrets = await localSecrets(dataDir)
  show(`Data: in ${dataDir.path}`)

  const exits = watchExits(lifecycle)
  const ready = bringUp(
    lifecycle,
    { ...options, signal: AbortSignal.any([exits.signal, ...(signal ? [signal] : [])]) },
    { dataDir, secrets, exits },
  )
  return ready.catch((error) => {
    throw exits.signal.aborted ? exits.signal.reason : error
  })
}

async function bringUp(
  lifecycle: Lifecycle,
  options: LocalStackOptions,
  { dataDir, secrets, exits }: { dataDir: DataDir; secrets: LocalSecrets; exits: ExitWatch },
): Promise<LocalStack> {
  const { settings, show, signal } = options
  const { postgres, redis, screens } = await startStoresAndScreens(lifecycle, options, { dataDir, secrets })
  exits.watch('Postgres', postgres.ended)
  exits.watch('Redis', redis.ended)
  signal?.throwIfAborted()
  await migrateTo(postgres, { secrets, show })
  const seeding = seedDemoData(postgres, { dataDir, secrets, options })
  const { demoPassword, demoClient } = await heartbeat(show, () => 'Demo data: being added', seeding)
  signal?.throwIfAborted()
  const auditFile = dataDir.at(AUDIT_FILE)
  const runningStack: RunningStack = {
    pid: process.pid,
    databaseUrl: postgres.operatorUrl,
    ownerUrl: postgres.ownerUrl,
    redisUrl: redis.ownerUrl,
    keyEncryptionKey: settings.keyEncryptionKey ?? secrets.keyEncryptionKey,
    auditFile,
  }
  const mailSink = settings.hasSmtp ? undefined : await register(lifecycle, startMailSink(dataDir.at('mail')))
  const services = await startServices(lifecycle, options, {
    stores: { postgres, redis },
    mailSink,
    keyEncryptionKey: runningStack.keyEncryptionKey,
    auditFile,
    exits,
  })
  signal?.throwIfAborted()
  const gateway = await startGateway({
    port: settings.ports.PORT,
    auth: services.auth.url,
    api: services.api.url,
    pages: screens,
    apiResource: settings.apiResource,
  })
  const runningFile = dataDir.at(RUNNING_FILE)
  lifecycle.add(gateway, { stop: () => rm(runningFile, { force: true }) })
  await writePrivateFile(runningFile, `${JSON.stringify(runningStack, null, 2)}\n`)
  return {
    baseUrl: settings.baseUrl,
    authUrl: services.auth.url,
    apiUrl: services.api.url,
    auditFile,
    mailFolder: mailSink?.folder,
    demoClient,
    demoPassword,
    forgetPassword: () => rm(dataDir.at(PASSWORD_FILE), { force: true }),
    stores: { postgres, redis },
    services,
    failed: exits.failed,
  }
}

async function startStoresAndScreens(
  lifecycle: Lifecycle,
  { settings, show, watch, signal }: LocalStackOptions,
  { dataDir, secrets }: { dataDir: DataDir; secrets: LocalSecrets },
): Promise<{ postgres: PostgresStore; redis: Store; screens: Pages }> {
  const { databaseUrl, redisUrl } = settings
  const storeOptions = { dataDir, secrets, show }
  // Finding Redis may need a mirror. Postgres is initialised after it, so that a failure leaves nothing.
  const redisLookup = redisUrl ? Promise.resolve() : redisServer(show)
  const postgres = databaseUrl
    ? attachPostgres(databaseUrl, secrets)
    : redisLookup.then(() => startOwnPostgres(storeOptions))
  const redis = redisUrl ? attachRedis(redisUrl) : redisLookup.then(() => startOwnRedis(storeOptions))
  const failed = new AbortController()
  for (const store of [postgres, redis]) store.catch(() => failed.abort())
  const end = { signal: AbortSignal.any([failed.signal, ...(signal ? [signal] : [])]) }
  return waitForAll(show, {
    postgres: register(lifecycle, postgres),
    redis: register(lifecycle, redis),
    screens: watch ? watchedPages(lifecycle, storeOptions) : buildWorkspace(ROOT, show, end).then(builtPages),
  })
}

/** Vite is a development package, so only `npm run dev` loads it. */
const watchedPages = async (
  lifecycle: Lifecycle,
  { dataDir, show }: Pick<StoreOptions, 'dataDir' | 'show'>,
): Promise<Pages> => {
  const { startVite } = await import('./vite-pages.ts')
  const vite = await startVite(join(ROOT, 'apps/workspace'), dataDir.at('vite'))
  lifecycle.add(vite)
  show('Changes: a service restarts, a screen is updated in the open page')
  return vite.pages
}

async function register<T extends Stoppable>(lifecycle: Lifecycle, starting: Promise<T>): Promise<T> {
  const part = await starting
  lifecycle.add(part)
  return part
}

/** All results, or the first failure once none of them is still running. Shows what is still pending. */
async function waitForAll<T extends Record<string, unknown>>(
  show: ShowProgress,
  work: { [Name in keyof T]: Promise<T[Name]> },
): Promise<T> {
  const pending = new Set(Object.keys(work))
  const settling = Object.entries(work).map(([name, task]) => task.finally(() => pending.delete(name)))
  await heartbeat(show, () => `Waiting for: ${[...pending].join(', ')}`, Promise.allSettled(settling))
  const results = Object.entries(work).map(async ([name, task]) => [name, await task])
  return Object.fromEntries(await Promise.all(results))
}

async function migrateTo(
  { ownerUrl }: Store,
  { secrets, show }: { secrets: LocalSecrets; show: ShowProgress },
): Promise<void> {
  // A real installation, where demo users would be strangers with access.
  if (await asOwner(ownerUrl, holdsOnlyOthers))
    throw new StartError(
      'The database of DATABASE_URL has companies, none of them from the demo. npm start would add demo ' +
        'users to it and change the passwords of its roles: set DATABASE_URL to an empty database.',
    )
  const { postgres: _, ...passwords } = secrets.postgres
  const migrating = heartbeat(show, () => 'Database: migrating', migrate({ ownerUrl, passwords }))
  const names = await migrating.catch((error) => {
    throw error instanceof OtherVersion ? new StartError(error.message) : error
  })
  show(`Database: ${names.length > 0 ? 'migrated' : 'up to date'}`)
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
const seedDemoData = (
  { ownerUrl }: Store,
  { dataDir, secrets, options }: { dataDir: DataDir; secrets: LocalSecrets; options: LocalStackOptions },
) =>
  asOwner(
    ownerUrl,
    async (db) => {
      const { demoPassword: password, baseUrl } = options.settings
      const file = dataDir.at(PASSWORD_FILE)
      const keepPassword = (text: string) => writePrivateFile(file, text)
      const days = await seed({ db, clock: systemClock, password, keepPassword })
      const demoPassword = await readFile(file, 'utf8').catch(() => undefined)
      options.show(`Demo data: ${days > 0 ? `${days} days of analytics added for each company` : 'complete'}`)
      const demoClient = await ensureDemoClient({ db, dataDir, secrets, baseUrl })
      return { demoPassword, demoClient }
    },
    createTrail({ auditFile: dataDir.at(AUDIT_FILE), stderr: process.stderr }),
  )

/**
 * Each service gets its own database role and Redis user; only the authorization server gets the key
 * encryption key.
 */
async function startServices(
  lifecycle: Lifecycle,
  { settings, show, output, signal, watch }: LocalStackOptions,
  context: Pick<LocalStack, 'stores' | 'auditFile'> & {
    keyEncryptionKey: string
    mailSink: MailSink | undefined
    exits: ExitWatch
  },
): Promise<LocalStack['services']> {
  const { stores, keyEncryptionKey, mailSink, auditFile, exits } = context
  const env = (service: 'auth' | 'api') => ({
    ...settings.serviceEnv(service),
    DATABASE_URL: stores.postgres.serviceUrl(service),
    REDIS_URL: stores.redis.serviceUrl(service),
    ISSUER: settings.issuer,
    API_RESOURCE: settings.apiResource,
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const start = async (
    service: 'auth' | 'api',
    name: string,
    port: number,
    extraEnv: Record<string, string>,
  ) => {
    const folder = join(ROOT, 'apps', service)
    const starting = register(
      lifecycle,
      startService({
        name: `The ${name}`,
        program: join(folder, 'main.ts'),
        // The API publishes the authorization server's description.
        watch: watch ? [folder, join(ROOT, 'shared'), join(ROOT, 'apps/auth/openapi.json')] : undefined,
        port,
        env: { ...extraEnv, ...env(service) },
        output,
        logLevel: settings.logLevel,
        auditFile,
        signal,
      }),
    )
    const localService = await heartbeat(show, () => `The ${name}: starting`, starting)
    exits.watch(`The ${name}`, localService.ended)
    show(`The ${name}: on 127.0.0.1:${port}`)
    return localService
  }
  const auth = await start('auth', 'authorization server', settings.ports.AUTH_PORT, {
    METRICS_PORT: String(settings.ports.AUTH_METRICS_PORT),
    KEY_ENCRYPTION_KEY: keyEncryptionKey,
  })
  // Started second, since it fetches the authorization server's keys before it is ready.
  const api = await start('api', 'resource API', settings.ports.API_PORT, {
    JWKS_URL: `http://127.0.0.1:${settings.ports.AUTH_PORT}/v1/oauth/jwks`,
    METRICS_PORT: String(settings.ports.API_METRICS_PORT),
    ...(mailSink && { SMTP_URL: mailSink.url, MAIL_FROM: DEMO_SENDER }),
  })
  return { auth, api }
}

type ExitWatch = ReturnType<typeof watchExits>

/** Detects a process that exits on its own: `failed` resolves, and `signal` is aborted, with a sentence. */
function watchExits(lifecycle: Lifecycle) {
  const abort = new AbortController()
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>()
  return {
    watch(name: string, ended: Promise<string> | undefined) {
      void ended?.then((how) => {
        if (lifecycle.stopping) return
        const sentence = `${name} exited unexpectedly: ${how}`
        fail(sentence)
        abort.abort(new StartError(sentence))
      })
    },
    failed,
    signal: abort.signal,
  }
}
