import cluster from 'node:cluster'
import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CommonConfig, ConfigError, type Env, EXIT_CONFIG, storeWeakness } from './config.ts'
import { drain, listen } from './http-server.ts'
import { createLog, type Log } from './log.ts'
import { createMetrics, type Metrics, serveMetrics } from './metrics.ts'
import { within } from './within.ts'

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

/** What is a service's own: its settings, its HTTP server, and what its processes do. */
interface ServiceProgram<Config extends CommonConfig> {
  name: 'auth' | 'api'
  readConfig: (env: Env) => Config
  createHttpServer: (listener: RequestListener) => Server
  /** Imports what a process serves with. The first of several serves nothing, and saves 25 MiB. */
  load: () => Promise<(parts: { config: Config; log: Log; metrics: Metrics }) => Service>
}

const DRAIN_DEADLINE_MS = 10_000
const RETRY_MS = 1_000
/** A process that is not ready by then listens anyway, to say so on /readyz. */
const LISTEN_WITHIN_MS = 3_000
const COLLECT_AFTER_MS = 1_000
const COLLECT_ALL = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const

/**
 * Runs a service until SIGTERM, SIGINT, or the end of the IPC channel to the process that started it. Then it
 * closes each connection with its next answer; after `DRAIN_DELAY_S` it takes no new connection,
 * requests in flight get their answers, and the process ends with code 0. If it cannot start, it says why and
 * ends with code 78 if a setting is the reason, else with 1. With the argument `--check` it only loads.
 */
export async function runService<Config extends CommonConfig>(
  env: Env,
  args: readonly string[],
  program: ServiceProgram<Config>,
): Promise<void> {
  try {
    const config = program.readConfig(env)
    if (args.length > 0 && args.join() !== '--check') throw new ConfigError('The only argument is --check.')
    if (args.length === 0) return await run(config, program)
    await program.load()
    process.stdout.write('The settings are valid.\n')
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1)
  }
}

async function run<C extends CommonConfig>(config: C, program: ServiceProgram<C>): Promise<void> {
  const { name, createHttpServer, load } = program
  const { METRICS_HOST, METRICS_PORT, PROCESSES } = config
  const log = createLog({ service: name, level: config.LOG_LEVEL })
  for (const variable of ['DATABASE_URL', 'REDIS_URL', 'REVOCATION_REDIS_URL', 'RATE_REDIS_URL'] as const) {
    const weakness = cluster.isPrimary && storeWeakness(config[variable] ?? '')
    if (weakness) log.warn({ event: weakness.event, variable }, `${variable}: ${weakness.problem}`)
  }
  const metrics = createMetrics({ service: name, measureProcess: METRICS_PORT !== undefined })
  if (METRICS_PORT !== undefined)
    await serveMetrics(metrics, { host: METRICS_HOST, port: METRICS_PORT, processes: PROCESSES })
  const stopped = new Promise<void>((resolve) => {
    // Permanent: a second Ctrl-C, or the one that a terminal also sends to a worker, changes nothing.
    for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(signal, () => resolve())
  })
  if (cluster.isPrimary && PROCESSES > 1) await runWorkers(PROCESSES, log, stopped)
  else {
    const service = (await load())({ config, log, metrics })
    await runServer(service, createHttpServer(service.handle), { config, log, stopped })
  }
  log.flush()
  // A channel that stays open would keep the process alive.
  if (process.connected) process.disconnect()
}

async function runServer(
  service: Service,
  server: Server,
  { config, log, stopped }: { config: CommonConfig; log: Log; stopped: Promise<void> },
): Promise<void> {
  const { HOST: host, PORT: port, DRAIN_DELAY_S } = config
  server.keepAliveTimeout = config.KEEP_ALIVE_TIMEOUT_S * 1_000
  const stopping = new AbortController()
  void stopped.then(() => stopping.abort())
  const starting = startService(service, log, stopping.signal)
  // Awaited below; until then a failure must not count as unhandled.
  starting.catch(() => {})
  // A proxy without health checks sends requests to any process that listens.
  await within(LISTEN_WITHIN_MS, starting)
  const listeningOn = await listen(server, { host, port })
  if (cluster.isPrimary) log.info({ event: 'service.listening', host, port: listeningOn }, 'listening')
  await starting
  // Loading leaves 17 MiB that V8 would keep while there is no load. Collecting takes 70 ms, so not at first.
  setTimeout(() => globalThis.gc?.(COLLECT_ALL), COLLECT_AFTER_MS).unref()
  await stopped
  service.drain()
  server.prependListener('request', (_request, response) => response.setHeader('Connection', 'close'))
  await sleep(DRAIN_DELAY_S * 1_000)
  await drain(server, DRAIN_DEADLINE_MS)
  await service.stop()
}

/** Tries until the stores are there; meanwhile /readyz says that the process is not ready. */
async function startService(service: Service, log: Log, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    try {
      await service.start()
      log.info({ event: 'service.ready' }, 'ready')
      return
    } catch (error) {
      if (error instanceof ConfigError) throw error
      log.warn({ event: 'service.not_ready', error: (error as Error).message }, 'not ready yet')
      await sleep(RETRY_MS, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

/** Each process is replaced when it ends, once all have been up. */
async function runWorkers(processes: number, log: Log, stopped: Promise<void>): Promise<void> {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  let listening = 0
  let stopping = false
  cluster.on('listening', (_worker, { address: host, port }) => {
    listening += 1
    if (listening === processes) log.info({ event: 'service.listening', host, port, processes }, 'listening')
  })
  cluster.on('exit', ({ process: { pid } }, code: number | null, signal: string | null) => {
    if (stopping) return
    if (listening < processes || code === EXIT_CONFIG) {
      const sentence = `A process ended with ${signal ?? `code ${code}`} before all were up.`
      // Only an error about the settings is permanent; the next start may have the memory it needs.
      reject(code === EXIT_CONFIG ? new ConfigError(sentence) : new Error(sentence))
    } else {
      log.error({ event: 'process.replaced', worker: pid, code, signal }, 'a process ended and is replaced')
      setTimeout(() => stopping || cluster.fork(), RETRY_MS)
    }
  })
  for (let i = 0; i < processes; i += 1) cluster.fork()
  await Promise.race([failed, stopped]).finally(async () => {
    stopping = true
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker && !worker.isDead())
    await Promise.all(workers.map((worker) => worker?.process.kill('SIGTERM') && once(worker, 'exit')))
  })
}
