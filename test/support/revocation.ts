import { randomBytes } from 'node:crypto'
import { copyFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { insertRevokedSigningKey, insertRevokedToken } from '#shared/revocation/state.ts'
import type { Entry, Subject } from '#shared/revocation/subject.ts'
import { PRODUCTION_TIMINGS, type Timings } from '#shared/revocation/timings.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { createRedis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { createReconciler, type Round, type Step } from '../../apps/api/revocation/round.ts'
import { forBlock } from './block.ts'
import { insertTestClient, insertTestCompany } from './companies.ts'
import { eventually } from './eventually.ts'
import { repeat } from './repeat.ts'
import { createTestDatabase, createTestRedis, type TestRedis } from './servers.ts'
import { createTcpProxy } from './tcp-proxy.ts'

/** The protocol ten times as fast. The time that a store may take stays, for busy machines. */
export const FAST: Readonly<Timings> = Object.freeze({
  ...PRODUCTION_TIMINGS,
  lease_ms: 500,
  settle_ms: 600,
  nonce_ms: 6_000,
  round_ms: 100,
  tick_ms: 100,
  refill_ms: 3_000,
  retry_ms: 50,
})

/** Many times what an idle machine takes. */
const UNTIL_TRUSTED_MS = 120_000

type Answer = `${'live' | 'undecided' | `${Entry['kind']} revoked`} by ${'redis' | 'postgres' | 'neither'}`

export type TestProcess = Awaited<ReturnType<typeof startTestProcess>>

export interface TestProcessOptions {
  redisUrl: string
  databaseUrl: string
  timings?: Timings
  statementTimeout_ms?: number
  step?: (step: Step) => Promise<void> | void
}

/** Starts what one process of a service has: its own connections, and nothing shared with another. */
export async function startTestProcess(options: TestProcessOptions) {
  const { redisUrl, databaseUrl, timings = FAST, statementTimeout_ms = 5_000, step = () => {} } = options
  const applicationName = 'test process'
  const db = createPostgres({ url: databaseUrl, poolSize: 5, applicationName, statementTimeout_ms })
  const redis = createRedis({ url: redisUrl, connectionName: applicationName })
  await redisReady(redis)
  const revocation = createRevocation({ redis, db, timings })
  const reconciler = createReconciler({ redis, db, timings, onStep: step })

  /** Returns the answer of `ask`, and which store gave it. */
  async function ask(subject: Subject): Promise<Answer> {
    const before = revocation.counts()
    const standing = await revocation.ask(subject)
    const after = revocation.counts()
    const by = (['redis', 'postgres', 'neither'] as const).filter((store) => after[store] > before[store])
    const words = typeof standing === 'object' ? `${standing.revoked} revoked` : standing
    return `${words} by ${by.join()}` as Answer
  }

  async function close() {
    redis.disconnect()
    await db.destroy()
  }
  return {
    db,
    redis,
    revocation,
    reconciler,
    ask,
    /** Starts rounds one after another. Returns a function that stops them. */
    keepReconciling: () => repeat(timings.round_ms, () => reconciler.round()),
    /** Runs rounds until Redis decides. Returns their outcomes. */
    async untilTrusted() {
      const rounds: Round[] = []
      const isTrusted = async () => {
        rounds.push(await reconciler.round())
        return (await ask({ clientId: newClientId() })) === 'live by redis'
      }
      await eventually(isTrusted, {
        otherwise: () => `never trusted: ${JSON.stringify(rounds)}`,
        limit_ms: UNTIL_TRUSTED_MS,
        every_ms: timings.round_ms,
      })
      return rounds.map(({ outcome }) => outcome)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Starts a process with its own network to this Redis server and to the database. */
export async function startNetworked({
  server,
  databaseUrl,
  ...options
}: Omit<TestProcessOptions, 'redisUrl'> & { server: TestRedis }) {
  await using starting = new AsyncDisposableStack()
  const redis = starting.use(await createTcpProxy(server.port))
  const postgres = starting.use(await createTcpProxy(Number(new URL(databaseUrl).port)))
  const urls = { redisUrl: through(server.url('api'), redis), databaseUrl: through(databaseUrl, postgres) }
  const process = starting.use(await startTestProcess({ ...urls, ...options }))
  const parts = starting.move()
  return { ...process, networks: { redis, postgres }, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Clients and keys of one company. `db` is a role that may insert them. */
export async function createSubjects(db: Database) {
  const { vendorId } = await insertTestCompany(db)
  return {
    vendorId,
    newClient: async () => (await insertTestClient(db, { vendorId })).clientId,
    async newKey() {
      const kid = randomBytes(8).toString('hex')
      await db.raw(
        `insert into signing_keys (kid, alg, public_jwk, private_key_encrypted, created_at, activates_at)
         values (?, 'ES256', '{}', '\\x00', now(), now())`,
        [kid],
      )
      return kid
    },
  }
}

/** A database and a Redis for the tests of a block, and processes that all end first. */
export const sharedStores = () => forBlock(startStores)

async function startStores() {
  const [database, server] = await Promise.all([createTestDatabase(), createTestRedis()])
  const db = database.connect('owner', { poolSize: 2 })
  const subjects = await createSubjects(db)
  const { vendorId } = subjects
  const started = new AsyncDisposableStack()
  return {
    ...subjects,
    database,
    server,
    /** As the owner of the database. */
    db,
    asAdmin: <T>(act: (redis: Redis) => Promise<T>) => asAdmin(server, act),
    /** Starts a process of this service. By default, the database is the service's own. */
    async start(user: 'auth' | 'api', options: Partial<TestProcessOptions> = {}) {
      const [redisUrl, databaseUrl] = [server.url(user), database[`${user}Url`]]
      return started.use(await startTestProcess({ redisUrl, databaseUrl, ...options }))
    },
    revoke: (process: TestProcess, clientId: string) => revokeClient(process, { vendorId, clientId }),
    /** As if the process that revoked it had ended before it wrote to Redis. */
    markRevoked: (clientId: string, transaction: Database = db) =>
      markClientRevoked(transaction, { vendorId, clientId, revokedBy: null }),
    /** As if a standby had taken the place of the database. */
    promote: () =>
      db.raw(`update revocation_trust set place = regexp_replace(database_place(), '\\w+$', '00000000')`),
    /** Whether the database has been confirmed where it is. */
    isFollowed: async (): Promise<boolean> =>
      (await db('revocation_trust').whereRaw('place = database_place()')).length === 1,
    async [Symbol.asyncDispose]() {
      await started.disposeAsync()
      await Promise.all([server[Symbol.asyncDispose](), database.drop()])
    },
  }
}

export const newJti = (): string => randomBytes(16).toString('hex')

export function revokeClient(
  { revocation }: TestProcess,
  { vendorId, clientId }: { vendorId: string; clientId: string },
): Promise<boolean> {
  return revocation.revoke({ kind: 'client', id: clientId }, (transaction) =>
    markClientRevoked(transaction, { vendorId, clientId, revokedBy: null }),
  )
}

export function revokeToken(
  { revocation }: TestProcess,
  { clientId, jti }: Record<'clientId' | 'jti', string>,
) {
  const expiresAt = new Date(Date.now() + 900_000)
  return revocation.revoke({ kind: 'token', id: jti }, (transaction) =>
    insertRevokedToken(transaction, { jti, clientId, expiresAt }),
  )
}

export const revokeKey = ({ revocation }: TestProcess, kid: string): Promise<void> =>
  revocation.revoke({ kind: 'key', id: kid }, (transaction) => insertRevokedSigningKey(transaction, kid))

/** Runs commands as the server's administrator. */
export async function asAdmin<T>(server: TestRedis, act: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url('admin'))
  return act(redis).finally(() => redis.disconnect())
}

/** A user whose password is its name. */
export async function addUser(server: TestRedis, name: string, rules: string): Promise<void> {
  await asAdmin(server, (redis) => redis.call('ACL', 'SETUSER', name, 'on', `>${name}`, ...rules.split(' ')))
}

/** Ends the server as a power cut would, and starts it with nothing. */
export async function restartEmpty(server: TestRedis): Promise<void> {
  await server.stop('SIGKILL')
  await rm(join(server.directory, 'dump.rdb'), { force: true })
  await server.start()
}

/** A server that a replica has just joined, or left, may be saving in the background already. */
function save(redis: Redis) {
  const wait = (error: Error): undefined => {
    if (!/save already in progress/.test(error.message)) throw error
  }
  return eventually(() => redis.save().catch(wait), { otherwise: () => 'the save in progress never ended' })
}

/** Writes the server's data to a file, to restore it later. Returns the file. */
export async function dump(server: TestRedis): Promise<string> {
  await asAdmin(server, save)
  const file = join(server.directory, 'old.rdb')
  await copyFile(join(server.directory, 'dump.rdb'), file)
  return file
}

/** Ends the server and starts it with the data of an earlier dump. */
export async function restartFrom(server: TestRedis, file: string): Promise<void> {
  await server.stop('SIGKILL')
  await copyFile(file, join(server.directory, 'dump.rdb'))
  await server.start()
}

/** Makes `to` a replica of `from` and waits until it has all data. */
export async function replicate(
  from: TestRedis,
  to: TestRedis,
  { username, password }: { username: string; password: string } = new URL(from.url('admin')),
): Promise<void> {
  await asAdmin(from, (redis) => redis.config('SET', 'repl-diskless-sync-delay', '0'))
  await asAdmin(to, async (redis) => {
    await redis.config('SET', 'masteruser', username, 'masterauth', password)
    await redis.replicaof('127.0.0.1', from.port)
    while (!(await redis.info('replication')).includes('master_link_status:up')) await sleep(10)
  })
}

/** Makes a replica a primary and closes its clients' connections, in one moment, as Sentinel does. */
export async function promote(server: TestRedis): Promise<void> {
  const commands = ['replicaof NO ONE', 'client KILL TYPE normal'].map((command) => command.split(' '))
  await asAdmin(server, (redis) => redis.multi(commands).exec())
}

/** Returns the URL, through the proxy. */
export function through(url: string, { port }: { port: number }): string {
  const other = new URL(url)
  other.port = String(port)
  return other.href
}

/** Pauses the server's process. Returns a function that resumes it. */
export async function freeze(server: TestRedis): Promise<() => void> {
  const pid = Number(/process_id:(\d+)/.exec(await asAdmin(server, (redis) => redis.info('server')))?.[1])
  process.kill(pid, 'SIGSTOP')
  return () => process.kill(pid, 'SIGCONT')
}
