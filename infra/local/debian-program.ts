import { type ExecFileException, execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm, statfs } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import type { ShowProgress } from '../progress.ts'
import { firstExecutable, onPath } from './child.ts'
import { errorCode, StartError } from './start-error.ts'

const run = promisify(execFile)
const DEADLINE_MS = 180_000
const VERSION_MAX_MS = 10_000
/** For the mirrors' lists and the packages. On a disk without it, apt may wait until its deadline. */
const ROOM_BYTES = 100 * 1_024 ** 2
const UNUSABLE = 'what apt has is too old, or does not run here'

/** A program that Debian packages. */
export interface DebianProgram {
  /** The name for people, such as `Redis`. */
  title: string
  /** Names of its executable. The first one found is used. */
  names: string[]
  package: string
  /** Packages with the libraries it links to; apt skips those that are installed. */
  linksTo?: string[]
  /** What prints its version, by default `--version`. */
  versionOption?: string
  /** What each program may take to say its version, to fetch it or to unpack it. */
  deadline_ms?: number
  /** Checks that output, which is empty if the program does not run here. */
  isUsable(version: string): boolean
  /** The sentence for a person if it cannot be found. */
  missing(why: string): string
}

/** Options of a program. It may ignore SIGTERM. Its errors are read, so they must be in English. */
const limited = ({ deadline_ms }: DebianProgram, env: Executable['env'] = {}, max_ms = DEADLINE_MS) => {
  const timeout = deadline_ms ?? max_ms
  return { timeout, killSignal: 'SIGKILL', env: { ...process.env, LC_ALL: 'C', ...env } } as const
}

/** How to start the program. An unpacked one finds its libraries through `env`. */
export interface Executable {
  command: string
  env: Record<string, string>
}

/**
 * Finds the program on the PATH, or in the cache folder from an earlier start, or else downloads Debian's
 * package and unpacks it there. Nothing is installed and no system service is left behind.
 * @throws StartError that says what to do if none of these works.
 */
export async function debianProgram(
  program: DebianProgram,
  show: ShowProgress = () => {},
  room_bytes = ROOM_BYTES,
): Promise<Executable> {
  const installed = { command: (await onPath(...program.names)) ?? '', env: {} }
  if (installed.command && (await isUsable(program, installed))) return installed
  // Its specification says to ignore a relative path.
  const { XDG_CACHE_HOME: caches = '' } = process.env
  const cache = join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'integration-access-service')
  const folder = join(cache, `${program.package}-${process.platform}-${process.arch}`)
  const cached = await findUnpacked(folder, program)
  if (cached) return cached
  show(`${program.title}: none on the PATH, unpacking Debian's ${program.package} into ${folder}`)
  await unpack(program, { cache, folder, room_bytes })
  const executable = await findUnpacked(folder, program)
  if (!executable) throw new StartError(program.missing(UNUSABLE))
  return executable
}

/** The unpacked program, if it exists and runs. A library that it needs may have been removed since. */
async function findUnpacked(folder: string, program: DebianProgram): Promise<Executable | undefined> {
  const command = await firstExecutable([join(folder, 'usr/bin')], program.names)
  if (!command) return undefined
  const libraries: string[] = []
  for (const root of ['usr/lib', 'lib'])
    for (const name of await readdir(join(folder, root)).catch(() => []))
      if (name.includes('-linux-')) libraries.push(join(folder, root, name))
  const executable = { command, env: { LD_LIBRARY_PATH: libraries.join(delimiter) } }
  return (await isUsable(program, executable)) ? executable : undefined
}

/** The exit code says nothing: wrk exits with 1 after printing its version. */
async function isUsable(program: DebianProgram, { command, env }: Executable): Promise<boolean> {
  const printing = run(command, [program.versionOption ?? '--version'], limited(program, env, VERSION_MAX_MS))
  const printed = await printing.catch((error: { stdout?: string }) => error)
  return program.isUsable(printed.stdout ?? '')
}

/**
 * Several starts may do this at once. Each unpacks its own copy, and the first to finish moves it into place.
 */
async function unpack(
  program: DebianProgram,
  { cache, folder, room_bytes }: { cache: string; folder: string; room_bytes: number },
): Promise<void> {
  let work: string | undefined
  try {
    await mkdir(cache, { recursive: true })
    const { bavail, bsize } = await statfs(cache)
    if (bavail * bsize < room_bytes) throw new Error('no space left on device')
    work = await mkdtemp(join(cache, 'unpacking-'))
    await download([program.package, ...(program.linksTo ?? [])], work, limited(program))
    const archives = join(work, 'archives')
    const packages = (await readdir(archives)).filter((name) => name.endsWith('.deb'))
    const root = join(work, 'root')
    for (const name of packages) await run('dpkg-deb', ['-x', join(archives, name), root], limited(program))
    if (!(await findUnpacked(root, program))) throw new Error(UNUSABLE)
    await moveIntoPlace(program, root, folder)
  } catch (error) {
    if (/no space left on device/i.test(String((error as { stderr?: string }).stderr || error)))
      throw new StartError(
        `The disk that holds ${cache} is full: make room, or set XDG_CACHE_HOME to a folder on another disk.`,
      )
    throw new StartError(program.missing(whyNot(error, cache)), { cause: error })
  } finally {
    if (work) await rm(work, { recursive: true, force: true })
  }
}

/**
 * Asks apt which packages this machine needs to run the program, and downloads them and the named ones. Uses
 * its own lists, archives and locks, because the system's may be missing, old, or writable only by root.
 */
async function download(names: string[], work: string, limits: ReturnType<typeof limited>): Promise<void> {
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
  const options = Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`])
  const { stderr } = await run('apt-get', [...options, '-q', 'update'], limits)
  // Where no mirror answers, apt only warns.
  const isPartial = stderr.includes('W: Failed to fetch')
  if (!(await readdir(join(work, 'lists'))).some((name) => name.includes('_Packages')))
    throw new Error(isPartial ? 'no Debian mirror answered' : 'apt knows no mirror')
  // `--reinstall`: it may be installed but not on the PATH.
  const install = ['-q', '-y', '--no-install-recommends', '--download-only', '--reinstall', 'install']
  await run('apt-get', [...options, ...install, ...names], limits).catch((error) => {
    throw isPartial ? new Error(`${whyNot(error, work)}; not every mirror answered`) : error
  })
}

async function moveIntoPlace(program: DebianProgram, from: string, folder: string): Promise<void> {
  try {
    await rename(from, folder)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error) ?? '')) throw error
    if (await findUnpacked(folder, program)) return
    await rm(folder, { recursive: true, force: true })
    await rename(from, folder)
  }
}

/** The programs' own errors begin with `E:` for apt and with its name for dpkg-deb. */
function whyNot(error: unknown, cache: string): string {
  const { killed, cmd = '', stderr = '', message, syscall = '' } = error as ExecFileException
  if (syscall.startsWith('spawn')) return 'this machine has no apt'
  if (syscall) return `${cache} cannot be written: ${errorCode(error)}`
  if (killed) return `${cmd.split(' ')[0]} took too long`
  const line = stderr.split('\n').find((text) => /^(?:E:|dpkg-deb: error)/.test(text))
  return line?.replace(/^E:/, '').trim() ?? message.split('\n')[0] ?? 'apt failed'
}
