import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import { startPostgres } from '../../../infra/local/postgres.ts'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { through } from '../../support/revocation.ts'
import { connectedDatabase } from '../../support/stores.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'

const DEADLINE_MS = 120_000
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
  let server = await startPostgres(options)
  const network = await createTcpProxy(server.port)
  const url = through(server.url('postgres'), network)
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 3 } })
  let thaw = () => {}

  /** Returns a synchronous standby and its options: the primary acknowledges no commit without it. */
  async function startStandby() {
    const next = await optionsFor(`postgres-${randomBytes(4).toString('hex')}`)
    await baseBackup(db, { from: options.directory, to: next.directory })
    const primary_conninfo = `${server.url('postgres')}&application_name=standby`
    await recoverWith(next.directory, 'standby.signal', { primary_conninfo })
    const standby = await startPostgres(next)
    await db.raw(`alter system set synchronous_standby_names = 'standby'`)
    await db.raw('select pg_reload_conf()')
    await eventually(
      async () => (await db.raw(`select from pg_stat_replication where sync_state = 'sync'`)).rows.length > 0,
      { limit_ms: DEADLINE_MS, otherwise: () => 'the standby never became synchronous' },
    )
    return { next, standby }
  }

  return {
    /** Leads to whichever server is the primary. */
    url,
    /** The superuser's connection by that URL. */
    db,
    /** Kills every process of it and starts it again; what is committed is in its log. */
    async restart() {
      await server.kill()
      // Until the last process of the killed server is gone, a new one refuses to start.
      let reason: unknown
      const start = () =>
        startPostgres(options).catch((error): undefined => {
          reason = error
        })
      server = await eventually(start, { limit_ms: DEADLINE_MS, otherwise: () => String(reason) })
    },
    /** Pauses every process of it. Returns a function that resumes them. */
    async freeze(): Promise<() => void> {
      const [line = ''] = (await readFile(join(options.directory, 'postmaster.pid'), 'utf8')).split('\n')
      const pids = [Number(line)]
      const signalAll = (signal: NodeJS.Signals) => {
        for (const pid of pids) process.kill(pid, signal)
      }
      // By a connection that is open already: there are no new ones when the first process has stopped.
      await db.transaction(async (transaction) => {
        await transaction.raw('select')
        signalAll('SIGSTOP')
        const { rows } = await transaction.raw(
          'select pid from pg_stat_activity where pid <> pg_backend_pid()',
        )
        pids.unshift(...rows.map((row: { pid: number }) => row.pid))
      })
      signalAll('SIGSTOP')
      thaw = () => {
        // The first process last: while it is stopped, the id of a process that has ended stays its own.
        signalAll('SIGCONT')
        pids.length = 0
      }
      return thaw
    },
    /**
     * Makes a synchronous standby, kills the primary under load and promotes the standby, then the server.
     */
    async failOver() {
      const { next, standby } = await startStandby()
      await sleep(BOTH_MS)
      await server.kill()
      await using own = connectedDatabase(standby.url('postgres'), { statementTimeout_ms: DEADLINE_MS })
      await own.raw('select pg_promote()')
      ;[server, options] = [standby, next]
      network.lead(server.port)
    },
    async [Symbol.asyncDispose]() {
      thaw()
      await db.destroy()
      await server.kill()
      await network.close()
    },
  }
}
