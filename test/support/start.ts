import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { within } from '#shared/process/within.ts'
import { collectText } from './collect-text.ts'
import { eventually } from './eventually.ts'
import { stackPorts } from './ports.ts'
import { ROOT } from './project.ts'

const READY_DEADLINE_MS = 180_000
const END_DEADLINE_MS = 120_000

export type Start = Awaited<ReturnType<typeof startStackProcess>>

export interface StartOptions {
  dataDir: string
  env?: Record<string, string>
  /** In place of running the file: `['npm', 'start']`. */
  command?: string[]
  args?: string[]
}

/** `npm start` as a person runs it: a process of its own with an environment. */
export async function startStackProcess(options: StartOptions) {
  const { dataDir, env = {}, args = [] } = options
  const [command = '', ...before] = options.command ?? [process.execPath, 'infra/local/main.ts']
  const ports = await stackPorts()
  // Every process inherits it, so that none can hide.
  const mark = `INTEGRATION_TEST_MARK=${randomUUID()}`
  const child = spawn(command, [...before, ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      ...ports,
      INTEGRATION_TEST_MARK: mark.split('=')[1],
      ...env,
    } as NodeJS.ProcessEnv,
  })
  const [stdout, stderr] = [collectText(child.stdout), collectText(child.stderr)]
  const exit = new Promise<number | NodeJS.Signals>((resolve) =>
    child.on('close', (code, signal) => resolve(code ?? (signal as NodeJS.Signals))),
  )
  /** Resolves with the exit code, or the signal, when it has ended. */
  async function ended() {
    const outcome = await within(END_DEADLINE_MS, exit)
    if (outcome === undefined) throw new Error(`did not end:\n${stdout()}\n${stderr()}`)
    return outcome
  }
  return {
    process: child as ChildProcess,
    baseUrl: `http://localhost:${env.PORT ?? ports.PORT}`,
    stdout,
    stderr,
    /** Resolves when the `ready` line is there. Rejects when the process ends before. */
    async ready() {
      const otherwise = () => `not ready:\n${stdout()}\n${stderr()}`
      const isReady = () => /^ready http/m.test(stdout())
      await eventually(() => isReady() || child.exitCode !== null, { otherwise, limit_ms: READY_DEADLINE_MS })
      if (!isReady()) throw new Error(otherwise())
    },
    ended,
    /** Sends SIGTERM. Resolves with the exit code. */
    stop() {
      child.kill('SIGTERM')
      return ended()
    },
    /** Its running processes, itself included. */
    running: () => findProcesses(dataDir, mark),
  }
}

/** Finds them by a mark in the environment or, as the stores overwrite theirs, by the folder they work in. */
export async function findProcesses(dataDir: string, mark?: string) {
  const processes: { pid: number; command: string; marked: boolean }[] = []
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '')
    const workingIn = await readlink(`/proc/${name}/cwd`).catch(() => '')
    const marked = mark !== undefined && environment.split('\0').includes(mark)
    if (!marked && !workingIn.startsWith(dataDir)) continue
    const command = await readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')
    if (command) processes.push({ pid: Number(name), command: command.replaceAll('\0', ' '), marked })
  }
  return processes
}
