import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../../infra/database/migrate.ts'
import { chownToNobody } from '../../../infra/local/child.ts'
import { type LocalPostgres, startPostgres } from '../../../infra/local/postgres.ts'
import { runAdmin, succeeded } from '../../support/admin.ts'
import { freePort } from '../../support/ports.ts'
import { createSubjects, startTestProcess } from '../../support/revocation.ts'
import { createTestRedis, postgresPrograms } from '../../support/servers.ts'
import { connectedDatabase } from '../../support/stores.ts'

/** A migrated primary that archives its log, a Redis, and a folder for further servers. */
export async function startSite() {
  await using starting = new AsyncDisposableStack()
  let parts: AsyncDisposableStack = starting
  const folder = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-stores-')))
  const directory = (name: string) => join(folder.path, name)
  await mkdir(directory('archive'))
  await chownToNobody(directory('archive'))
  const start = async (name: string) => {
    const server = await startPostgres({
      directory: directory(name),
      password: 'x',
      programs: postgresPrograms(),
      settings: { archive_mode: 'on', archive_command: `cp %p ${directory('archive')}/%f` },
      port: await freePort(),
    })
    parts.defer(() => server.stop())
    return server
  }
  const primary = await start('primary')
  const redis = parts.use(await createTestRedis())
  await migrate({ ownerUrl: primary.url('postgres'), passwords: { integration_api: 'a' } })
  const db = parts.use(open(primary))
  const subjects = await createSubjects(db)
  parts = starting.move()
  return {
    ...subjects,
    directory,
    primary,
    redis,
    db,
    /** Starts a server on a folder of this site. */
    start,
    /** Returns the revocation of one process, as the superuser or as the API. */
    async process(server: LocalPostgres, role: 'postgres:x' | 'integration_api:a') {
      const databaseUrl = server.url('postgres').replace('postgres:x', role)
      const process = await startTestProcess({ redisUrl: redis.url('api'), databaseUrl })
      parts.defer(() => process.close())
      return process
    },
    /** Raises a fence, repeats what the logs prove, and lowers the fence, as an operator does. */
    async confirm(server: LocalPostgres, since: string, ...repeated: string[][]): Promise<void> {
      const env = { DATABASE_URL: server.url('postgres'), REDIS_URL: redis.url('api') }
      await succeeded(runAdmin(['restore', 'fence', '--yes', '--since', since], { env }))
      for (const command of repeated) await succeeded(runAdmin(command, { env }))
      await succeeded(runAdmin(['restore', 'confirm'], { env }))
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** Opens a connection of the superuser. */
export const open = (server: LocalPostgres) => connectedDatabase(server.url('postgres'))
