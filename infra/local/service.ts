import { ConfigError, EXIT_CONFIG } from '#shared/process/config.ts'
import { serviceEnvironment } from '../service-environment.ts'
import { asNobody, type Child, endWithParent, startChild } from './child.ts'
import { poll } from './poll.ts'
import { printedLevel, routeOutput } from './service-output.ts'
import { StartError } from './start-error.ts'

const READY = { every_ms: 50, limit_ms: 60_000 }
/** Longer than a service needs to drain. */
const STOP_DEADLINE_MS = 20_000

interface LocalServiceOptions {
  /** The name for people, such as `the authorization server`. */
  name: string
  /** The file that Node runs. */
  program: string
  port: number
  env: Record<string, string>
  /** Receives its output of at least `logLevel`. */
  output: NodeJS.WritableStream
  logLevel: string
  /** Receives its audit events, whatever `logLevel` is. */
  auditFile: string
  /** Folders to watch. A change of any file in them restarts the service. */
  watch?: string[] | undefined
  /** Abandons the start. */
  signal: AbortSignal | undefined
}

export interface LocalService {
  url: string
  pid: number
  /** Resolves when the process has exited, with the reason and its last output. */
  ended: Promise<string>
  stop(): Promise<void>
  kill(): Promise<void>
}

/**
 * Starts a service as its own process, which also exits when this process does, because the channel between
 * them closes. Resolves once it is ready.
 * @throws ConfigError if it refuses its settings, or StartError with its last output if it exits or is not
 * ready in time.
 */
export async function startService(options: LocalServiceOptions): Promise<LocalService> {
  const { program, port, env, output, logLevel, auditFile, watch } = options
  const flags = watch ? ['--watch-preserve-output', ...watch.map((folder) => `--watch-path=${folder}`)] : []
  const node = [process.execPath, ...flags, program]
  // Unlike a service, Node's watcher does not exit when the channel closes.
  const wrapped = watch ? await endWithParent('TERM', node) : node
  const [command = '', ...args] = await asNobody(wrapped, process.execPath, program)
  const child = startChild(command, args, {
    env: {
      ...serviceEnvironment(),
      ...env,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: printedLevel(logLevel),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  if (child.process.stdout) routeOutput(child.process.stdout, { logLevel, auditFile, output })
  child.process.stderr?.pipe(output, { end: false })
  const url = `http://127.0.0.1:${port}`
  try {
    await waitUntilReady(url, child, options)
  } catch (error) {
    await child.stop()
    throw error
  }
  return {
    url,
    pid: child.process.pid as number,
    ended: child.ended.then((how) => `${explainExit(how)}${lastOutput(child)}`),
    stop: () => child.stop('SIGTERM', STOP_DEADLINE_MS),
    kill: () => child.stop('SIGKILL'),
  }
}

async function waitUntilReady(url: string, child: Child, { name, signal }: LocalServiceOptions) {
  async function isReady(): Promise<boolean> {
    signal?.throwIfAborted()
    const end = child.end()
    if (end === `exit code ${EXIT_CONFIG}`) throw new ConfigError(`${name} refuses its settings.`)
    if (end !== undefined)
      throw new StartError(`${name} did not start (${explainExit(end)})${lastOutput(child)}`)
    return answersOk(`${url}/readyz`)
  }
  await poll(isReady, READY, () => new StartError(`${name} did not become ready${lastOutput(child)}`))
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

const explainExit = (end: string): string => (end === 'SIGKILL' ? 'SIGKILL; out of memory?' : end)

function lastOutput(child: Child): string {
  const lines = child.output().split('\n').slice(-5).join('\n  ')
  return lines ? `; its last words:\n  ${lines}` : ''
}
