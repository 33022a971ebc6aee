import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import knex from 'knex'
import { migrate } from '../../../infra/database/migrate.ts'
import { chownToNobody } from '../../../infra/local/child.ts'
import { startPostgres } from '../../../infra/local/postgres.ts'
import { letPostgresClockMove } from '../../support/database.ts'
import { freePort } from '../../support/ports.ts'
import { createTestRedis, PASSWORDS } from '../../support/servers.ts'

const DATABASE = 'integration'
/** Room for the database alone: Postgres' write-ahead log is elsewhere. */
const DISK = '64m'

/** Redis, and a Postgres that has the database on a small disk of its own. */
export async function startServers(folder: string) {
  await using starting = new AsyncDisposableStack()
  const disk = join(folder, 'disk')
  await mkdir(disk)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'none', disk])
  starting.defer(() => void execFileSync('umount', ['--lazy', disk]))
  await chownToNobody(disk)
  const options = {
    directory: join(folder, 'postgres'),
    port: await freePort(),
    password: randomBytes(16).toString('hex'),
    settings: { fsync: 'off', max_connections: '100' },
  }
  let postgres = await startPostgres(options)
  starting.defer(() => postgres.kill())
  const connect = (database: string) =>
    starting.adopt(
      knex({ client: 'pg', connection: postgres.url(database), pool: { min: 0, max: 3 } }),
      (pool) => pool.destroy(),
    )
  const ownerUrl = postgres.url(DATABASE)
  const beside = connect('postgres')
  await beside.raw(`create tablespace disk location '${disk}'`)
  await beside.raw(`create database ${DATABASE} tablespace disk`)
  const migrateAll = () => migrate({ ownerUrl, passwords: PASSWORDS })
  await migrateAll()
  const db = connect(DATABASE)
  await letPostgresClockMove(db)
  const redis = starting.use(await createTestRedis(folder))

  /** Closes every connection to the database: the services open new ones. */
  const closeConnections = () =>
    beside.raw('select pg_terminate_backend(pid) from pg_stat_activity where datname = ?', [DATABASE])
  const parts = starting.move()
  return {
    disk,
    redis,
    /** The owner's connections: to the services' database, and to another one. */
    db,
    beside,
    /** The database's URL with the rights of a service or the operator. */
    urlOf: (role: keyof typeof PASSWORDS) =>
      Object.assign(new URL(ownerUrl), { username: role, password: PASSWORDS[role] }).href,
    migrate: migrateAll,
    closeConnections,
    /** Runs statements while nobody uses the database. */
    async exclusively(...statements: string[]): Promise<void> {
      await beside.raw(`alter database ${DATABASE} allow_connections false`)
      await closeConnections()
      for (const sql of statements) await beside.raw(sql)
      await beside.raw(`alter database ${DATABASE} allow_connections true`)
    },
    stopPostgres: () => postgres.stop(),
    async startPostgres(): Promise<void> {
      postgres = await startPostgres(options)
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
