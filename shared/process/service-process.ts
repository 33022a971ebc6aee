import cluster, { type Worker } from 'node:cluster'
import type { RequestListener, Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigError } from './config.ts'
import { drain, listen } from './http-server.ts'
import type { Log } from './log.ts'

/** What one process of a service does. */
export interface Service {
  readonly handle: RequestListener
  /** Resolves when a request could be served. Rejects with ConfigError when it never will be. */
  start(): Promise<void>
  /** No longer ready; requests are still answered. */
  drain(): void
  /** Closes every connection. No request is left. */
  stop(): Promise<void>
}

export interface ServiceProcessOptions {
  host: string
  port: number
  /** More than one: that many processes that share the port, each as good as any other. */
  processes: number
  /** How long requests are still accepted after the signal, to give proxies time to notice it. */
  drainDelay_ms: number
  log: Log
  createHttpServer: (listener: RequestListener) => Server
  createService: () => Service
}

/** EX_CONFIG of sysexits.h: restarting will not help. */
const EXIT_CONFIG = 78
const DRAIN_DEADLINE_MS = 10_000
const RETRY_MS = 1_000
/** A process that is not ready by then listens anyway, to say so on /readyz. */
const LISTEN_WITHIN_MS = 3_000

/**
 * Runs a service until SIGTERM, SIGINT, or the end of the IPC channel to the process that started it. From then on
 * it is not ready and closes each connection with its next answer; after `drainDelay_ms` it takes no new connection,
 * requests in flight get their answers, and the process ends with code 0.
 */
export async function runServiceProcess(options: ServiceProcessOptions): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, resolve)
  })
  // An impatient second Ctrl-C, or the one that a terminal also sends to a worker.
  process.on('SIGTERM', () => {})
  process.on('SIGINT', () => {})
  if (cluster.isPrimary && options.processes > 1) await runWorkers(options, stopped)
  else await runServer(options, stopped)
  options.log.flush()
  // A channel that stays open would keep the process alive.
  if (process.connected) process.disconnect()
}

/** Says in one line why a process cannot start, and ends it. */
export function exitUnstarted(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1)
}

async function runServer(options: ServiceProcessOptions, stopped: Promise<void>): Promise<void> {
  const { host, port, drainDelay_ms, log, createHttpServer, createService } = options
  const service = createService()
  const server = createHttpServer(service.handle)
  const stopping = new AbortController()
  void stopped.then(() => stopping.abort())
  const starting = startService(service, log, stopping.signal)
  // Awaited below; until then a failure must not count as unhandled.
  starting.catch(() => {})
  // A proxy without health checks sends requests to any process that listens.
  await Promise.race([starting, sleep(LISTEN_WITHIN_MS)])
  const listeningOn = await listen(server, { host, port })
  if (cluster.isPrimary) log.info({ host, port: listeningOn }, 'listening')
  await starting
  await stopped
  service.drain()
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'))
  await sleep(drainDelay_ms)
  await drain(server, DRAIN_DEADLINE_MS)
  await service.stop()
}

/** Tries until the stores are there; meanwhile /readyz says that the process is not ready. */
async function startService(service: Service, log: Log, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    try {
      await service.start()
      log.info('ready')
      return
    } catch (error) {
      if (error instanceof ConfigError) throw error
      log.warn({ error: (error as Error).message }, 'not ready yet')
      await sleep(RETRY_MS, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

async function runWorkers({ processes, log }: ServiceProcessOptions, stopped: Promise<void>): Promise<void> {
  let stopping = false
  let listening = 0
  const workers = new Set<Worker>()

  const ended = new Promise<void>((resolve, reject) => {
    function start(): void {
      const worker = cluster.fork()
      workers.add(worker)
      worker.once('exit', (code: number | null, signal: string | null) => {
        workers.delete(worker)
        if (stopping) {
          if (workers.size === 0) resolve()
        } else if (listening < processes || code === EXIT_CONFIG) {
          const sentence = `A process ended with ${signal ?? `code ${code}`} before all were up.`
          // Only an error about the settings is permanent; the next start may have the memory it needs.
          reject(code === EXIT_CONFIG ? new ConfigError(sentence) : new Error(sentence))
        } else {
          log.error({ worker: worker.process.pid, code, signal }, 'a process ended and is replaced')
          setTimeout(() => !stopping && start(), RETRY_MS)
        }
      })
      worker.once('listening', ({ address, port }) => {
        listening += 1
        if (listening === processes) log.info({ host: address, port, processes }, 'listening')
      })
    }
    for (let i = 0; i < processes; i += 1) start()
    void stopped.then(() => {
      stopping = true
      for (const worker of workers) worker.process.kill('SIGTERM')
      if (workers.size === 0) resolve()
    })
  })
  try {
    await ended
  } finally {
    for (const worker of workers) worker.process.kill('SIGTERM')
  }
}
