import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, chmod, mkdir, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { poll } from './poll.ts'
import { errorCode, StartError } from './start-error.ts'

/** The events of both services and of the admin command, one JSON object per line. */
export const AUDIT_FILE = 'audit.ndjson'
/** A folder with one of these is the local stack's own. The last is all that a first start may have left. */
const STACK_ENTRIES = ['secrets.json', 'postgres', 'secrets.json.unfinished']
/** The Postgres of a stack that was killed stops within a second or two. */
const POSTGRES_END = { every_ms: 100, limit_ms: 5_000 }

/** The folder with all data of the local stack. Only one stack can use it at a time. */
export interface DataDir {
  path: string
  /** Returns the path of an entry in it. */
  at(name: string): string
  release(): void
}

/**
 * Creates the folder at the first start, and reserves it for this process until `release` or its end.
 * @throws StartError if it is unusable, belongs to another user, has other contents, or is in use.
 */
export async function openDataDir(path: string): Promise<DataDir> {
  await createFolder(path)
  await requireOwner(path)
  const lock = await takeLock(path)
  try {
    await requireNoPostgres(path)
    // Postgres, Redis and the services then run as another user. What is inside is closed to others anyway.
    if (process.getuid?.() === 0) await chmod(path, 0o711)
  } catch (error) {
    lock?.close()
    throw error
  }
  return { path, at: (name) => join(path, name), release: () => void lock?.close() }
}

async function createFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    await access(path, constants.W_OK)
    const names = await readdir(path)
    if (names.length === 0 || STACK_ENTRIES.some((name) => names.includes(name))) return
  } catch (error) {
    throw new StartError(
      `DATA_DIR ${path} cannot be used (${errorCode(error)}): set it to a writable folder.`,
    )
  }
  throw new StartError(`DATA_DIR ${path} contains other files: set it to a new or empty folder.`)
}

/**
 * Listens on a name of Linux's abstract sockets, which only one process can do and which leaves nothing
 * behind, however the process ends.
 */
async function takeLock(path: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined
  const lock = createServer((socket) => socket.destroy())
  const name = createHash('sha256')
    .update(await realpath(path))
    .digest('hex')
  try {
    await once(lock.listen(`\0integration-${name}`), 'listening')
    return lock.unref()
  } catch (error) {
    if (errorCode(error) !== 'EADDRINUSE') throw error
    throw new StartError(
      `Another local stack is running on DATA_DIR ${path}: stop it first, or choose ` +
        'another DATA_DIR and PORT.',
    )
  }
}

/**
 * Postgres lets one server use its folder and refuses while the process of its pid file runs, whatever that
 * is by now. So a file whose number belongs to another program is removed.
 */
async function requireNoPostgres(path: string): Promise<void> {
  // Elsewhere Postgres alone decides.
  if (process.platform !== 'linux') return
  const directory = join(path, 'postgres')
  const pidFile = join(directory, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10)
  const isGone = async () =>
    !(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0').includes(directory)
  const sentence = `A Postgres (process ${pid}) of an earlier stack still runs on DATA_DIR ${path}: stop it.`
  await poll(isGone, POSTGRES_END, () => new StartError(sentence))
  await rm(pidFile, { force: true })
}

/** Root could write here, but the owner could not use the files afterwards. */
async function requireOwner(path: string): Promise<void> {
  const { uid } = await stat(path)
  if (uid === process.getuid?.() || process.getuid === undefined) return
  throw new StartError(
    `DATA_DIR ${path} belongs to another user (uid ${uid}): start as that user, or ` +
      'set DATA_DIR to another folder.',
  )
}

/** Writes a file that only its owner can read, completely or not at all. */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await rm(unfinished, { force: true })
  const handle = await open(unfinished, 'wx', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(unfinished, file)
}
