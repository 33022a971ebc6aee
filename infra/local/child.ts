import {
  type ChildProcess,
  type ExecFileOptions,
  execFile,
  type SpawnOptions,
  spawn,
} from 'node:child_process'
import { access, chown, constants, stat } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { within } from '#shared/process/within.ts'
import { StartError } from './start-error.ts'

const run = promisify(execFile)
/** Many times what each takes on a slow machine. */
const RUN_DEADLINE_MS = 300_000
const OUTPUT_KEPT_CHARACTERS = 4_000
const KILL_DEADLINE_MS = 1_000
const NOBODY = 65534

/** A child process in its own session, so that Ctrl-C in the terminal does not reach it. */
export interface Child {
  readonly process: ChildProcess
  /** Resolves once it has exited, with the reason: `exit code 1`, `SIGKILL`, or why it could not start. */
  readonly ended: Promise<string>
  /** Why it exited; undefined while it runs. */
  end(): string | undefined
  /** The end of its output. */
  output(): string
  /**
   * Sends `signal` and waits for the exit. Kills it with its group on SIGKILL or after `deadline_ms`. A
   * second later it no longer waits for the output, which a process outside the group may hold open.
   */
  stop(signal?: NodeJS.Signals, deadline_ms?: number): Promise<void>
}

export function startChild(command: string, args: string[], options: SpawnOptions = {}): Child {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...options })
  let output = ''
  let end: string | undefined
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-OUTPUT_KEPT_CHARACTERS)
    })
  const ended = new Promise<string>((resolve) => {
    const settle = (how: string) => {
      end ??= how
      resolve(end)
    }
    child.on('error', (error) => {
      if (child.pid === undefined) settle(error.message)
    })
    // `close` rather than `exit`, because only then has all output been read.
    child.on('close', (code, signal) => settle(signal ?? `exit code ${code}`))
  })
  return {
    process: child,
    ended,
    end: () => end,
    output: () => output.trim(),
    async stop(signal = 'SIGTERM', deadline_ms = 10_000) {
      if (end !== undefined) return
      if (signal === 'SIGKILL') killGroup(child)
      else child.kill(signal)
      if ((await within(deadline_ms, ended)) !== undefined) return
      killGroup(child)
      if ((await within(KILL_DEADLINE_MS, ended)) !== undefined) return
      for (const stream of [child.stdout, child.stderr]) stream?.destroy()
      await within(KILL_DEADLINE_MS, ended)
    },
  }
}

/**
 * Runs a program that ends on its own. Returns its output.
 * @throws StartError that begins with `failure`, with its last words, or after `timeout` milliseconds.
 */
export async function runToEnd(
  [program = '', ...args]: string[],
  failure: string,
  { timeout = RUN_DEADLINE_MS, ...options }: ExecFileOptions = {},
): Promise<string> {
  // It may ignore SIGTERM, and print much.
  const limits = { timeout, killSignal: 'SIGKILL', maxBuffer: Number.POSITIVE_INFINITY } as const
  const running = run(program, args, { ...options, ...limits, encoding: 'utf8' })
  const { stdout } = await running.catch(({ killed, stderr, message }) => {
    const late = `it took longer than ${timeout / 1_000} s. Start again when this machine is less busy.`
    const lastWords = (stderr?.trim() || message).slice(-OUTPUT_KEPT_CHARACTERS)
    throw new StartError(`${failure}: ${killed ? late : lastWords}`)
  })
  return stdout
}

/**
 * Starts a store as `asNobody`, in an environment without secrets. The kernel sends it `signal` if this
 * process dies.
 */
export async function startStore(
  command: string[],
  { signal, needed, env }: { signal: 'INT' | 'TERM'; needed: string[]; env?: NodeJS.ProcessEnv },
): Promise<Child> {
  const [program = '', ...args] = await asNobody(await endWithParent(signal, command), ...needed)
  return startChild(program, args, { env: { ...storeEnvironment(), ...env } })
}

/** The end of its output. Postgres needs five lines to say why it cannot listen, and Redis three. */
export const lastLines = (child: Child, count: number): string =>
  child.output().split('\n').slice(-count).join(' / ')

/** The part of this process's environment that a store gets. It contains no secrets. */
export const storeEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH })

/** The process leads its own group, so this reaches only the process and its children. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/**
 * Wraps the command so that the kernel sends it `signal` if this process dies without stopping it. That is
 * not available outside Linux.
 */
export async function endWithParent(signal: 'INT' | 'TERM' | 'KILL', command: string[]): Promise<string[]> {
  if (process.platform !== 'linux' || !(await onPath('setpriv'))) return command
  return ['setpriv', '--pdeathsig', signal, ...command]
}

const isRoot = (): boolean => process.getuid?.() === 0

/** Lets an unprivileged child own these files. */
export async function chownToNobody(...paths: string[]): Promise<void> {
  if (isRoot()) await Promise.all(paths.map((path) => chown(path, NOBODY, NOBODY)))
}

/**
 * Wraps the command so that root runs it as the user nobody. Postgres insists on that, and the services need
 * no rights. If that user cannot reach `needed`, such as below /root, it gets a capability to read
 * everything, but can write only its own files. access(2) honours a capability only with no_setuid_fixup.
 */
export async function asNobody(command: string[], ...needed: string[]): Promise<string[]> {
  if (!isRoot()) return command
  if (!(await onPath('setpriv')))
    throw new StartError(
      'setpriv is missing, which starts Postgres and the services as another user than root.',
    )
  const reachable = (await Promise.all(needed.map((path) => canAnyoneEnter(dirname(path))))).every(Boolean)
  const nobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups']
  return [...nobody, ...(reachable ? [] : READ_ANY_FILE), ...command]
}

const READ_ANY_FILE = [
  '--securebits=+no_setuid_fixup',
  '--inh-caps=+dac_read_search',
  '--ambient-caps=+dac_read_search',
]

/** Whether every user can enter a folder and all on the way to it. */
async function canAnyoneEnter(folder: string): Promise<boolean> {
  const { mode } = await stat(folder)
  if ((mode & 0o001) === 0) return false
  const parent = dirname(folder)
  return parent === folder || canAnyoneEnter(parent)
}

export const onPath = (...names: string[]): Promise<string | undefined> =>
  firstExecutable((process.env.PATH ?? '').split(delimiter).filter(Boolean), names)

export async function firstExecutable(folders: string[], names: string[]): Promise<string | undefined> {
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const error = await access(path, constants.X_OK).catch((reason) => reason)
    if (!error) return path
  }
  return undefined
}
