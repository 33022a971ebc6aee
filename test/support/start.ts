import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from './ports.ts'

const ROOT = join(import.meta.dirname, '../..')
const READY_DEADLINE_MS = 180_000
const END_DEADLINE_MS = 120_000
const POLL_MS = 50

/** `npm start` as a person runs it: a process of its own with an environment. */
export interface Start {
  process: ChildProcess
  baseUrl: string
  stdout(): string
  stderr(): string
  /** Resolves when the `ready` line is there. Rejects when the process ends before. */
  ready(): Promise<void>
  /** Resolves with the exit code, or the signal, when it has ended. */
  ended(): Promise<number | NodeJS.Signals>
  /** SIGTERM, and the exit code. */
  stop(): Promise<number | NodeJS.Signals>
  /** The processes of it that run, itself included. */
  running(): Promise<{ pid: number; command: string }[]>
}

export interface StartOptions {
  dataDir: string
  env?: Record<string, string>
  /** In place of running the file: `['npm', 'start']`. */
  command?: string[]
  args?: string[]
}

/** A folder for a test, which may contain what file names rarely do. */
export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'integration-access-start-'))

export const removeFolder = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

export async function startProcess(options: StartOptions): Promise<Start> {
  const { dataDir, env = {}, args = [] } = options
  const [command = '', ...before] = options.command ?? [process.execPath, 'infra/local/main.ts']
  const [port, authPort, apiPort, authMetricsPort, apiMetricsPort] = (await freePorts(5)).map(String)
  // Every process inherits it, so that none can hide.
  const mark = `INTEGRATION_TEST_MARK=${randomUUID()}`
  const child = spawn(command, [...before, ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: port,
      AUTH_PORT: authPort,
      API_PORT: apiPort,
      AUTH_METRICS_PORT: authMetricsPort,
      API_METRICS_PORT: apiMetricsPort,
      INTEGRATION_TEST_MARK: mark.split('=')[1],
      ...env,
    } as NodeJS.ProcessEnv,
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const exit = new Promise<number | NodeJS.Signals>((resolve) =>
    child.on('close', (code, signal) => resolve(code ?? (signal as NodeJS.Signals))),
  )
  const ended = () => within(exit, END_DEADLINE_MS, () => `did not end:\n${stdout}\n${stderr}`)
  return {
    process: child,
    baseUrl: `http://localhost:${env.PORT ?? port}`,
    stdout: () => stdout,
    stderr: () => stderr,
    async ready() {
      const deadline = Date.now() + READY_DEADLINE_MS
      while (!/^ready http/m.test(stdout)) {
        if (child.exitCode !== null || Date.now() > deadline)
          throw new Error(`not ready:\n${stdout}\n${stderr}`)
        await sleep(POLL_MS)
      }
    },
    ended,
    stop() {
      child.kill('SIGTERM')
      return ended()
    },
    running: () => processesOf(dataDir, mark),
  }
}

function within<T>(promise: Promise<T>, limit_ms: number, why: () => string): Promise<T> {
  const late = sleep(limit_ms, undefined, { ref: false }).then(() => {
    throw new Error(why())
  })
  return Promise.race([promise, late])
}

/** By a mark in the environment, or, for the stores, which overwrite theirs, by the folder that they work in. */
export async function processesOf(
  dataDir: string,
  mark?: string,
): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    const workingIn = await readlink(`/proc/${name}/cwd`).catch(() => '')
    const marked = mark !== undefined && environment.split('\0').includes(mark)
    if (!marked && !workingIn.startsWith(dataDir)) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command) found.push({ pid: Number(name), command: command.replaceAll('\0', ' ') })
  }
  return found
}
