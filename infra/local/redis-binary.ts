import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { firstExecutable, onPath } from './child.ts'
import { errorCode, Failure } from './failure.ts'

const run = promisify(execFile)
const NAMES = ['redis-server', 'valkey-server']
/** The first with selectors in its access rules. Valkey's numbers go on from there. */
const OLDEST_MAJOR = 7
const APT_DEADLINE_MS = 180_000
const ABANDONED_AFTER_MS = 3_600_000

export interface RedisServer {
  command: string
  env: Record<string, string>
}

let found: Promise<RedisServer> | undefined

/**
 * A Redis server to run: the one on the PATH, else one that was unpacked into the cache folder before, else
 * Debian's package, downloaded and unpacked there. Nothing is installed and no system service is left behind.
 * @throws Failure that says what to do when none of these works.
 */
export function redisServer(say: (line: string) => void = () => {}): Promise<RedisServer> {
  found ??= find(say)
  return found
}

async function find(say: (line: string) => void): Promise<RedisServer> {
  const installed = await onPath(...NAMES)
  if (installed && (await isUsable(installed, process.env))) return { command: installed, env: {} }
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'integration-access-service')
  const folder = join(cache, `redis-${process.platform}-${process.arch}`)
  const cached = await unpackedIn(folder)
  if (cached) return cached
  say(`Redis: none on the PATH, unpacking Debian's redis-server into ${folder}`)
  await unpack(cache, folder)
  const server = await unpackedIn(folder)
  if (!server) throw missing(`what apt has is older than Redis ${OLDEST_MAJOR}, or does not run here`)
  return server
}

const missing = (why: string): Failure =>
  new Failure(
    `No Redis server of version ${OLDEST_MAJOR} or newer was found on the PATH, and none could be fetched (${why}): install redis-server or valkey-server, or set REDIS_URL to a server that runs.`,
  )

/** The unpacked server if it is there and runs: a library that it needs may have left the machine since. */
async function unpackedIn(folder: string): Promise<RedisServer | undefined> {
  const command = await firstExecutable([join(folder, 'usr/bin')], NAMES)
  if (!command) return undefined
  const libraries: string[] = []
  for (const root of ['usr/lib', 'lib']) {
    for (const name of await readdir(join(folder, root)).catch(() => [])) {
      if (name.includes('-linux-')) libraries.push(join(folder, root, name))
    }
  }
  const env = { LD_LIBRARY_PATH: libraries.join(delimiter) }
  return (await isUsable(command, { ...process.env, ...env })) ? { command, env } : undefined
}

/** Runs at all, and is new enough for the rules that users get. */
async function isUsable(command: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { stdout } = await run(command, ['--version'], { env }).catch(() => ({ stdout: '' }))
  return Number(/\bv=(\d+)\./.exec(stdout)?.[1]) >= OLDEST_MAJOR
}

/** Several starts may do this at once: each unpacks for itself, and the first to finish moves it into place. */
async function unpack(cache: string, folder: string): Promise<void> {
  let work: string | undefined
  try {
    await mkdir(cache, { recursive: true })
    await removeAbandoned(cache)
    work = await mkdtemp(join(cache, 'unpacking-'))
    await download(work)
    const archives = join(work, 'archives')
    const packages = (await readdir(archives)).filter((name) => name.endsWith('.deb'))
    for (const name of packages) await run('dpkg-deb', ['-x', join(archives, name), join(work, 'root')])
    await moveIntoPlace(join(work, 'root'), folder)
  } catch (error) {
    if (errorCode(error) === 'ENOSPC') throw error
    throw missing(whyNot(error))
  } finally {
    if (work) await rm(work, { recursive: true, force: true })
  }
}

/**
 * Asks apt which packages this machine lacks to run redis-server, and downloads just these. Lists, archives and
 * locks are our own: the system's may be missing, old, or only root's to touch.
 */
async function download(work: string): Promise<void> {
  await mkdir(join(work, 'lists/partial'), { recursive: true })
  await mkdir(join(work, 'archives/partial'), { recursive: true })
  const settings = {
    'Dir::State::lists': join(work, 'lists'),
    'Dir::Cache': work,
    'Dir::Log': work,
    'APT::Sandbox::User': 'root',
    'Debug::NoLocking': '1',
    'Acquire::Retries': '1',
    'Acquire::http::Timeout': '20',
    'Acquire::https::Timeout': '20',
  }
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const limits = { timeout: APT_DEADLINE_MS }
  await run('apt-get', [...options, '-q', 'update'], limits)
  const install = ['-q', '-y', '--no-install-recommends', '--download-only', 'install', 'redis-server']
  await run('apt-get', [...options, ...install], limits)
}

async function moveIntoPlace(from: string, folder: string): Promise<void> {
  try {
    await rename(from, folder)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error
    if (await unpackedIn(folder)) return
    await rm(folder, { recursive: true, force: true })
    await rename(from, folder)
  }
}

/** What an interrupted run left behind. */
async function removeAbandoned(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith('unpacking-')) continue
    const path = join(cache, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true })
  }
}

function whyNot(error: unknown): string {
  if (errorCode(error) === 'ENOENT') return 'this machine has no apt'
  const { killed, stderr, message } = error as Error & { killed?: boolean; stderr?: string }
  if (killed) return 'apt took too long'
  const line = stderr?.split('\n').find((text) => text.startsWith('E:'))
  return line?.slice(2).trim() ?? message.split('\n')[0] ?? 'apt failed'
}
