import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { listen } from './http-server.ts'
import { VERSION } from './version.ts'

const PREFIX = 'integration_'
/** Upper bounds in seconds: most answers take milliseconds, none more than the 10 s of a callback test. */
const DURATION_BUCKETS_S = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A value of a gauge or counter, with its labels. */
export interface Sample {
  labels?: Record<string, string>
  value: number
}

interface Description {
  /** Without the prefix `integration_`; ends with its unit, or `_total`. */
  name: string
  help: string
  labels?: readonly string[]
}

/** What a process counts. Counting takes about a microsecond and cannot fail. */
export type Metrics = ReturnType<typeof createMetrics>

/** @param service its name in `integration_build_info`. `ofProcess`: measures memory, CPU and event-loop lag too. */
export function createMetrics({ service, ofProcess = false }: { service: string; ofProcess?: boolean }) {
  const registry = new Registry()
  if (ofProcess) collectDefaultMetrics({ register: registry })
  const options = ({ name, help, labels = [] }: Description) => ({
    name: PREFIX + name,
    help,
    labelNames: labels,
    registers: [registry],
  })
  /** Reads the values when they are asked for. */
  const collecting = (read: () => Sample[]) =>
    function collect(this: Counter | Gauge): void {
      this.reset()
      for (const { labels = {}, value } of read()) this.inc(labels, value)
    }

  const durations = new Histogram({
    ...options({
      name: 'http_request_duration_seconds',
      help: 'Requests by route, method and status, and how long they took',
      labels: ['route', 'method', 'status'],
    }),
    buckets: DURATION_BUCKETS_S,
  })
  const build = options({
    name: 'build_info',
    help: 'Always 1; the version that runs',
    labels: ['service', 'version'],
  })
  new Gauge({ ...build, aggregator: 'first' }).set({ service, version: VERSION }, 1)

  return {
    registry,
    /** @param request its route as it is documented, never the path that was sent; `unmatched` without one. */
    answered(request: { route: string; method: string; status: number; duration_ms: number }): void {
      const { duration_ms, ...labels } = request
      durations.observe(labels, duration_ms / 1_000)
    },
    /** @returns what counts one more, or `by` more, under the values of its labels. */
    counter(description: Description): (labels?: Record<string, string>, by?: number) => void {
      const counter = new Counter(options(description))
      return (labels = {}, by = 1) => counter.inc(labels, by)
    },
    /** A counter kept elsewhere, and read on demand. */
    counterOf(description: Description, read: () => Sample[]): void {
      new Counter({ ...options(description), collect: collecting(read) })
    },
    /** A value read on demand. @param summed how the values of several processes become one. */
    gauge(description: Description, summed: 'sum' | 'min' | 'max' | 'first', read: () => Sample[]): void {
      new Gauge({ ...options(description), aggregator: summed, collect: collecting(read) })
    },
  }
}

/**
 * Serves `GET /metrics` in the text format of Prometheus on a port of its own, summed over the processes that share
 * the service's port. To be called in each of them; only the first one listens. The listener keeps no process alive.
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
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    const text = workers ? workers.clusterMetrics() : registry.metrics()
    text.then(
      (body) => response.writeHead(200, { 'Content-Type': registry.contentType }).end(body),
      () => response.writeHead(503).end(),
    )
  })
  server.on('connection', (socket) => socket.unref())
  await listen(server, { host, port })
  server.unref()
}
