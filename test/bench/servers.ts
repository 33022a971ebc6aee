import { mkdtemp, open, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, startChild } from '../../infra/local/child.ts'
import { freePort } from '../../infra/local/ports.ts'
import { serviceCommand } from '../../infra/service-command.ts'
import { onCore, type Place } from './cores.ts'

const ROOT = join(import.meta.dirname, '../..')
const START_DEADLINE_MS = 30_000
const POLL_MS = 50

export interface Server {
  url: string
  /** Its processes; none when it was not started here. */
  pids: number[]
  stop(): Promise<void>
}

export interface ServerOptions {
  /** Relative to the root of the project. */
  program: string
  env: (url: string) => Record<string, string>
  place?: Place
  processes?: number
}

/** The servers that were started, and a folder for files. */
export interface Servers {
  directory: string
  start(options: ServerOptions): Promise<Server>
  /** Of floors/. */
  startFloor(name: string, env?: Record<string, string>): Promise<Server>
  /** Empties the file that all servers log to. */
  forgetLogs(): Promise<void>
  stop(): Promise<void>
  /** Removes the folder. */
  remove(): Promise<void>
}

export async function createServers(): Promise<Servers> {
  const directory = await mkdtemp(join(tmpdir(), 'integration-access-bench-'))
  const logFile = join(directory, 'servers.log')
  const running = new Set<Server>()

  async function start({ program, env, place = 'server', processes = 1 }: ServerOptions): Promise<Server> {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const [command, ...args] = onCore(place, serviceCommand(join(ROOT, program)))
    const log = await open(logFile, 'a')
    const child = startChild(command as string, args, {
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        ...env(url),
        HOST: '127.0.0.1',
        PORT: String(port),
      },
      // Logs go to a file, as a log shipper would have it. The channel ends a service when this process is gone.
      stdio: ['ignore', log.fd, 'pipe', 'ipc'],
    })
    await log.close()
    await answers(url, child)
    const pid = child.process.pid as number
    const server: Server = {
      url,
      pids: processes > 1 ? [pid, ...(await childrenOf(pid))] : [pid],
      async stop() {
        running.delete(server)
        await child.stop()
      },
    }
    running.add(server)
    return server
  }

  return {
    directory,
    start,
    startFloor: (name, env = {}) => start({ program: `test/bench/floors/${name}.ts`, env: () => env }),
    forgetLogs: () => truncate(logFile).catch(() => {}),
    async stop() {
      await Promise.all([...running].map((server) => server.stop()))
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').map(Number)
}

/** Waits until the server says that it is ready, or, being a floor, says anything at all. */
async function answers(url: string, child: Child): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  for (;;) {
    const status = await fetch(`${url}/readyz`).then(
      (response) => response.status,
      () => undefined,
    )
    if (status !== undefined && status !== 503) return
    if (child.end() !== undefined || Date.now() > deadline) {
      await child.stop()
      throw new Error(`a server did not start: ${child.output()}`)
    }
    await sleep(POLL_MS)
  }
}
