import cluster from 'node:cluster'
import { randomUUID } from 'node:crypto'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { createHttpServer, listen } from './http-server.ts'
import { VERSION } from './version.ts'

/** Upper bounds in seconds: most answers take milliseconds, none more than the 10 s of a callback test. */
const DURATION_BUCKETS_S = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8 * 1_024 }

export type Metrics = ReturnType<typeof createMetrics>

/** Returns a registry of metrics. `measureProcess`: with memory, CPU and event-loop lag of the process. */
export function createMetrics(options: { service: string; measureProcess?: boolean }) {
  const { service, measureProcess = false } = options
  const registry = new Registry()
  if (measureProcess) collectDefaultMetrics({ register: registry })
  // Of several processes the one that lags most counts, not their average.
  Object.assign(registry.getSingleMetric('nodejs_eventloop_lag_p99_seconds') ?? {}, { aggregator: 'max' })
  // Gauges with a counter's name, which promtool refuses.
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  const durations = new Histogram({
    name: 'integration_http_request_duration_seconds',
    help: 'Requests by route, method and status, and how long they took',
    labelNames: ['route', 'method', 'status'],
    buckets: DURATION_BUCKETS_S,
    registers: [registry],
  })

  /** @param read called for each scrape: what it does not set is absent. `over`: how several become one. */
  function gauge(
    name: string,
    about: { help: string; labels?: readonly string[]; over: 'sum' | 'min' | 'max' | 'first' },
    read: (set: (value: number, labels?: Record<string, string>) => void) => void | Promise<void>,
  ): void {
    const { help, labels: labelNames = [], over: aggregator } = about
    const collect = async () => {
      measured.reset()
      // Resetting one without labels sets it to 0.
      measured.remove({})
      await read((value, labels = {}) => measured.set(labels, value))
    }
    const measured = new Gauge({ name, help, labelNames, aggregator, registers: [registry], collect })
  }

  const help = 'Always 1; the version that runs'
  const build = { help, labels: ['service', 'version'], over: 'first' } as const
  gauge('integration_build_info', build, (set) => set(1, { service, version: VERSION }))
  return {
    registry,
    /** @param request its route as documented, never the path that was sent; `unmatched` without one. */
    observe(request: { route: string; method: string; status: number; duration_ms: number }): void {
      const { duration_ms, ...labels } = request
      durations.observe(labels, duration_ms / 1_000)
    },
    /** @param values of its label: each begins as 0, since a rate does not see a first value. */
    counter(name: string, help: string, values: Record<string, readonly string[]> = {}): Counter {
      const counter = new Counter({ name, help, labelNames: Object.keys(values), registers: [registry] })
      for (const [label, labelValues] of Object.entries(values))
        for (const value of labelValues) counter.inc({ [label]: value }, 0)
      return counter
    },
    gauge,
  }
}

export function measureReadiness(
  { gauge }: Metrics,
  health: () => Promise<{ waitingFor: string[]; degraded: string[] }>,
): void {
  gauge('integration_ready', { help: '1 while every process can serve requests', over: 'min' }, async (set) =>
    set((await health()).waitingFor.length === 0 ? 1 : 0),
  )
  const help = '1 while a process serves requests without this'
  gauge('integration_degraded', { help, labels: ['without'], over: 'max' }, async (set) => {
    const { degraded } = await health()
    for (const without of ['redis', 'clocks', 'read-only'])
      set(degraded.includes(without) ? 1 : 0, { without })
  })
}

/**
 * Serves `GET /metrics` in the text format of Prometheus on a port of its own, summed over the processes that
 * share the service's port. Call it in each; only the first listens. The listener keeps no process alive.
 * @throws the system's error, such as EADDRINUSE.
 */
export async function serveMetrics(
  { registry }: Metrics,
  { host, port, processes }: { host: string; port: number; processes: number },
): Promise<void> {
  if (!cluster.isPrimary) {
    // From then on it answers the first process.
    AggregatorRegistry.setRegistries(registry)
    new AggregatorRegistry()
    return
  }
  const workers = processes > 1 ? new AggregatorRegistry() : undefined
  const serve: Parameters<typeof createHttpServer>[0] = ({ method, url }, response) => {
    response.setHeader('X-Request-Id', randomUUID())
    if (method !== 'GET' || url !== '/metrics') return void response.writeHead(404).end()
    void (workers ? workers.clusterMetrics() : registry.metrics()).then(
      (body) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(body),
      () => response.writeHead(503).end(),
    )
  }
  const server = createHttpServer(serve, LIMITS, (body) => ({ contentType: 'application/json', body }))
  server.on('connection', (socket) => socket.unref())
  await listen(server, { host, port })
  server.unref()
}
