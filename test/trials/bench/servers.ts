import { mkdtemp, open, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Child, startChild } from '../../../infra/local/child.ts'
import { serviceEnvironment } from '../../../infra/service-environment.ts'
import { freePort } from '../../support/ports.ts'
import { onCore, serverCore } from './cores.ts'

const ROOT = join(import.meta.dirname, '../../..')
const START_DEADLINE_MS = 30_000
const POLL_MS = 10

export interface Server {
  url: string
  /** Its processes. */
  pids: number[]
  /** What it does not share with the generator and the stores; undefined when it does. */
  core: number | undefined
  stop(): Promise<void>
}

export interface ServerOptions {
  /** Relative to the root of the project. */
  program: string
  env: (url: string) => Record<string, string>
}

export type Servers = Awaited<ReturnType<typeof createServers>>

/** The servers that were started, and a folder for files. */
export async function createServers() {
  const directory = await mkdtemp(join(tmpdir(), 'integration-access-bench-'))
  const logFile = join(directory, 'servers.log')
  const running = new Set<Server>()

  async function start({ program, env }: ServerOptions): Promise<Server> {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const child = await spawned([process.execPath, join(ROOT, program)], {
      NODE_ENV: 'production',
      ...serviceEnvironment(),
      ...env(url),
      HOST: '127.0.0.1',
      PORT: String(port),
    })
    await becomesReady(child, () => isReady(url))
    return started(child, url)
  }

  async function spawned(line: string[], env: NodeJS.ProcessEnv): Promise<Child> {
    const [command, ...args] = onCore('server', line)
    const log = await open(logFile, 'a')
    const child = startChild(command as string, args, {
      env: { PATH: process.env.PATH, ...env },
      // Logs go to a file, as a log shipper would have it. The channel ends a service when this process is gone.
      stdio: ['ignore', log.fd, 'pipe', 'ipc'],
    })
    await log.close()
    return child
  }

  async function started(child: Child, url: string): Promise<Server> {
    const server: Server = {
      url,
      pids: await processTree(child.process.pid as number),
      core: serverCore,
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
    /** Starts a server of floors/. */
    startFloor: (name: string, env: Record<string, string> = {}) =>
      start({ program: `test/trials/bench/floors/${name}.ts`, env: () => env }),
    /** Empties the file that all servers log to. */
    forgetLogs: () => truncate(logFile).catch(() => {}),
    async stop() {
      await Promise.all([...running].map((server) => server.stop()))
    },
    /** Removes the folder. */
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** A process and all that it started, and they started. */
async function processTree(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const trees = await Promise.all(children.trim().split(' ').filter(Boolean).map(Number).map(processTree))
  return [pid, ...trees.flat()]
}

/** Whether the server says that it is ready, or, being a floor, says anything at all. */
async function isReady(url: string): Promise<boolean> {
  const { status } = await fetch(`${url}/readyz`)
  return status !== 503
}

async function becomesReady(child: Child, ready: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS
  while (!(await ready().catch(() => false))) {
    if (child.end() !== undefined || Date.now() > deadline) {
      await child.stop()
      throw new Error(`a server did not start: ${child.output()}`)
    }
    await sleep(POLL_MS)
  }
}
