import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const NAMES = ['redis-server', 'valkey-server']
/** redis-server and what it links to beyond the libraries that every Debian has. */
const PACKAGES = ['redis-tools', 'libatomic1', 'libjemalloc2', 'liblzf1']

export interface RedisServer {
  command: string
  env: Record<string, string>
}

let found: Promise<RedisServer> | undefined

/**
 * A Redis server to run: the one on the PATH, else one that was unpacked into the cache folder before, else
 * Debian's package, downloaded and unpacked there. Nothing is installed and no system service is left behind.
 * @throws Error that says what to do when none of these works.
 */
export function redisServer(say: (line: string) => void = () => {}): Promise<RedisServer> {
  found ??= find(say)
  return found
}

async function find(say: (line: string) => void): Promise<RedisServer> {
  const onPath = await firstExecutable((process.env.PATH ?? '').split(delimiter))
  if (onPath) return { command: onPath, env: {} }
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'integration-access-service')
  const folder = join(cache, 'redis')
  if (!(await firstExecutable([join(folder, 'usr/bin')]))) {
    say("no Redis on the PATH: unpacking Debian's redis-server into the cache folder")
    await unpack(cache, folder)
  }
  const command = await firstExecutable([join(folder, 'usr/bin')])
  if (!command) throw new Error(MISSING)
  const libraries = (await readdir(join(folder, 'usr/lib'))).map((name) => join(folder, 'usr/lib', name))
  return { command, env: { LD_LIBRARY_PATH: libraries.join(delimiter) } }
}

const MISSING =
  'No Redis server was found, and none could be fetched with apt. Install redis-server or valkey-server, or set REDIS_URL to a server that runs.'

async function firstExecutable(folders: string[]): Promise<string | undefined> {
  for (const folder of folders.filter(Boolean)) {
    for (const name of NAMES) {
      const path = join(folder, name)
      if (
        await access(path, constants.X_OK).then(
          () => true,
          () => false,
        )
      )
        return path
    }
  }
  return undefined
}

async function unpack(cache: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'unpacking-'))
  try {
    await mkdir(join(work, 'lists/partial'), { recursive: true })
    await mkdir(join(work, 'archives/partial'), { recursive: true })
    // Package lists of our own: the system's may be missing or old, and only root may refresh them.
    const options = [
      '-o',
      `Dir::State::lists=${work}/lists`,
      '-o',
      `Dir::Cache=${work}`,
      '-o',
      'APT::Sandbox::User=root',
    ]
    await run('apt-get', [...options, 'update'])
    await run('apt-get', [...options, 'download', ...PACKAGES, 'redis-server'], { cwd: work })
    const files = (await readdir(work)).filter((name) => name.endsWith('.deb'))
    for (const file of files) await run('dpkg-deb', ['-x', join(work, file), join(work, 'root')])
    await rename(join(work, 'root'), folder)
  } catch (error) {
    throw new Error(MISSING, { cause: error })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
