import { chmod, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorCode, Failure } from './failure.ts'

const LOCK_FILE = 'lock'
/** The events of both services and of the admin command, one JSON object per line. */
export const AUDIT_FILE = 'audit.ndjson'
const SQLITE_BUSY = 5
const MIB = 1_048_576
/** A new Postgres needs about 60 MiB with its first log files. Redis and the rest need very little. */
const ROOM_FOR_FIRST_START_MIB = 160
const ROOM_FOR_START_MIB = 48

/** The folder with all data of the local stack. Only one stack can use it at a time. */
export interface DataDir {
  path: string
  /** Returns the path of an entry in it. */
  at(name: string): string
  release(): void
}

/**
 * Creates the folder at the first start, and reserves it for this process until `release` or the end of the process.
 * @throws Failure if it is unusable, belongs to another user, has other contents, or is in use by another stack.
 */
export async function openDataDir(
  path: string,
  { roomNeeded_MiB }: { roomNeeded_MiB?: number } = {},
): Promise<DataDir> {
  const names = await usableFolder(path)
  const lock = takeLock(path)
  try {
    await requireOwner(path)
    // Postgres then runs as another user and needs access. Everything inside is closed to others anyway.
    if (process.getuid?.() === 0) await chmod(path, 0o711)
    const first = !names.includes('postgres')
    await requireRoom(path, roomNeeded_MiB ?? (first ? ROOM_FOR_FIRST_START_MIB : ROOM_FOR_START_MIB))
  } catch (error) {
    lock.close()
    throw error
  }
  return { path, at: (name) => join(path, name), release: () => lock.close() }
}

/** Returns its entries, which always include the lock file. */
async function usableFolder(path: string): Promise<string[]> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const names = await readdir(path)
    if (names.length > 0 && !names.includes(LOCK_FILE))
      throw new Failure(`DATA_DIR ${path} contains other files: set it to a new or empty folder.`)
    await (await open(join(path, LOCK_FILE), 'a', 0o600)).close()
    return names
  } catch (error) {
    const reason = WHY_UNUSABLE[errorCode(error) ?? '']
    if (!reason) throw error
    throw new Failure(`DATA_DIR ${path} ${reason}: set it to a writable folder.`)
  }
}

const WHY_UNUSABLE: Record<string, string> = {
  EEXIST: 'is a file',
  ENOTDIR: 'is a file, or lies below one',
  EACCES: 'may not be written by this user',
  EPERM: 'may not be written by this user',
  EROFS: 'is on a read-only disk',
  ENOENT: 'leads nowhere',
  ENAMETOOLONG: 'is too long',
}

/**
 * SQLite's exclusive lock is the operating system's lock on an open file. Only one process can hold it, and it ends with
 * the process, however that exits. The file stays empty.
 */
function takeLock(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(path, LOCK_FILE))
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new Failure(
      `Another local stack is running on DATA_DIR ${path}: stop it first, or choose another DATA_DIR and PORT.`,
    )
  }
}

/** Root could write here, but the owner could not use the files afterwards. */
async function requireOwner(path: string): Promise<void> {
  const { uid } = await stat(join(path, LOCK_FILE))
  if (uid === process.getuid?.() || process.getuid === undefined) return
  throw new Failure(
    `DATA_DIR ${path} belongs to another user (uid ${uid}): start as that user, or set DATA_DIR to another folder.`,
  )
}

async function requireRoom(path: string, needed_MiB: number): Promise<void> {
  const { bavail, bsize } = await statfs(path)
  const free_MiB = Math.floor((bavail * bsize) / MIB)
  if (free_MiB >= needed_MiB) return
  throw new Failure(
    `The disk that holds DATA_DIR ${path} is full: ${free_MiB} MiB are free, but ${needed_MiB} MiB are needed: make room, or set DATA_DIR to a folder on another disk.`,
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
