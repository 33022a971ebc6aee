import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../../infra/database/migrate.ts'
import { type LocalPostgres, startPostgres } from '../../../infra/local/postgres.ts'
import { runAdmin } from '../../support/admin.ts'
import { freePort } from '../../support/ports.ts'
import { createSubjects, startProcess } from '../../support/revocation.ts'
import { createTestRedis, otherPostgres } from '../../support/servers.ts'
import { connectedDatabase } from '../../support/stores.ts'

/** A migrated primary that archives its log, a Redis, and a folder for further servers. */
export async function startSite() {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-stores-'))
  await chmod(folder, 0o755)
  const directory = (name: string) => join(folder, name)
  await mkdir(directory('archive'))
  await chmod(directory('archive'), 0o777)
  const servers: LocalPostgres[] = []
  const start = async (name: string) => {
    const server = await startPostgres({
      directory: directory(name),
      password: 'x',
      programs: otherPostgres(),
      settings: { archive_mode: 'on', archive_command: `cp %p ${directory('archive')}/%f` },
      port: await freePort(),
    })
    servers.push(server)
    return server
  }
  const primary = await start('primary')
  const redis = await createTestRedis(folder)
  await migrate({ ownerUrl: primary.url('postgres'), passwords: { integration_api: 'a' } })
  const db = open(primary)
  return {
    directory,
    primary,
    redis,
    db,
    subjects: await createSubjects(db),
    /** Starts a server on a folder of this site. */
    start,
    /** Returns the revocation of one process, as the superuser or as the API. */
    process: (server: LocalPostgres, role: 'postgres:x' | 'integration_api:a') =>
      startProcess({
        redisUrl: redis.url('api'),
        databaseUrl: server.url('postgres').replace('postgres:x', role),
      }),
    /** Raises a fence and lowers it, as an operator does. Returns whether both commands succeeded. */
    async confirm(server: LocalPostgres, since: string, ...options: string[]): Promise<boolean> {
      const env = { DATABASE_URL: server.url('postgres'), REDIS_URL: redis.url('api') }
      const fence = await runAdmin(['restore', 'fence', '--yes', '--since', since, ...options], { env })
      const confirm = await runAdmin(['restore', 'confirm'], { env })
      process.stdout.write(`${fence.stdout}${fence.stderr}${confirm.stdout}${confirm.stderr}`)
      return fence.code === 0 && confirm.code === 0
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.stop()))
      await redis.stop('SIGKILL')
      await rm(folder, { recursive: true })
    },
  }
}

/** Opens a connection of the superuser. */
export const open = (server: LocalPostgres) => connectedDatabase(server.url('postgres'))
