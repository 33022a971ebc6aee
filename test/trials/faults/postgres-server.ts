import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex, { type Knex } from 'knex'
import { type LocalPostgres, startPostgres } from '../../../infra/local/postgres.ts'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { freePort } from '../../support/ports.ts'
import { through } from '../../support/revocation.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'

const DEADLINE_MS = 120_000
const POLL_MS = 100
/** How long both take part in every commit before the primary is lost. */
const BOTH_MS = 2_000

export async function createPostgresServer(folder: string) {
  const password = randomBytes(16).toString('hex')
  const optionsFor = async (name: string) => ({
    directory: join(folder, name),
    port: await freePort(),
    password,
    // The machine itself stays up, so what was written is there after a kill.
    settings: { fsync: 'off', max_connections: '100', wal_keep_size: '512MB' },
  })
  let options = await optionsFor('postgres')
  let server: LocalPostgres = await startPostgres(options)
  const network = await createTcpProxy(server.port)
  let thaw = () => {}
  return {
    /** Leads to whichever server is the primary. */
    url: through(server.url('postgres'), network),
    /** Ends every process of it; what is committed is in its log. */
    kill() {
      thaw()
      return server.kill()
    },
    async start() {
      // Until the last process of the killed server is gone, a new one refuses to start.
      for (const deadline = performance.now() + DEADLINE_MS; ; await sleep(POLL_MS))
        try {
          server = await startPostgres(options)
          return
        } catch (error) {
          if (performance.now() > deadline) throw error
        }
    },
    /** Pauses every process of it. Returns a function that resumes them. */
    async freeze(db: Knex): Promise<() => void> {
      const [line = ''] = (await readFile(join(options.directory, 'postmaster.pid'), 'utf8')).split('\n')
      const postmaster = Number(line)
      // By a connection that is open already: there are no new ones when the first process has stopped.
      const pids = await db.transaction(async (transaction) => {
        await transaction.raw('select')
        process.kill(postmaster, 'SIGSTOP')
        const { rows } = await transaction.raw(
          'select pid from pg_stat_activity where pid <> pg_backend_pid()',
        )
        return [postmaster, ...rows.map((row: { pid: number }) => row.pid)]
      })
      signal(pids, 'SIGSTOP')
      thaw = () => signal(pids, 'SIGCONT')
      return thaw
    },
    /** Makes a synchronous standby, kills the primary under load and promotes the standby, which is the server then. */
    async failOver() {
      const next = await optionsFor(`postgres-${randomBytes(4).toString('hex')}`)
      const standby = await startStandby(server, options.directory, next)
      await sleep(BOTH_MS)
      await server.kill()
      await withConnection(standby, (db) => db.raw('select pg_promote()'))
      ;[server, options] = [standby, next]
      network.lead(server.port)
    },
    async close() {
      thaw()
      await server.kill()
      await network.close()
    },
  }
}

type Options = Parameters<typeof startPostgres>[0]

/** @returns a standby that confirms every commit of the primary before that is acknowledged. */
async function startStandby(primary: LocalPostgres, from: string, options: Options): Promise<LocalPostgres> {
  return withConnection(primary, async (db) => {
    await baseBackup(db, { from, to: options.directory })
    const address = `host=127.0.0.1 port=${primary.port} user=postgres password=${options.password}`
    await recoverWith(options.directory, 'standby.signal', {
      primary_conninfo: `${address} application_name=standby`,
    })
    const standby = await startPostgres(options)
    await db.raw(`alter system set synchronous_standby_names = 'standby'`)
    await db.raw('select pg_reload_conf()')
    for (const deadline = performance.now() + DEADLINE_MS; ; await sleep(POLL_MS)) {
      const { rows } = await db.raw(`select from pg_stat_replication where sync_state = 'sync'`)
      if (rows.length > 0) return standby
      if (performance.now() > deadline) throw new Error('the standby never became synchronous')
    }
  })
}

async function withConnection<T>(server: LocalPostgres, act: (db: Knex) => Promise<T>): Promise<T> {
  const db = knex({ client: 'pg', connection: server.url('postgres'), pool: { min: 0, max: 1 } })
  return act(db).finally(() => db.destroy())
}

/** A process may have ended since it was listed. */
function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}
