import { freePort } from '../../support/ports.ts'
import { figuresOf, measureFor, measureInterleaved } from './measure.ts'
import { createReaders } from './readers.ts'
import type { Bench, Finding, Measurement, Row } from './row.ts'
import { single } from './statistics.ts'

const WARM_UP_S = 12
const NAME = 'daily read'

export const tailRows: Row[] = [{ name: 'daily read, tail', part: 'speed', measure }]

/** What slow reads wait for, by the metrics of the service itself. */
async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const metricsPort = await freePort()
  const server = await world.startService('api', { metricsPort })
  const { requests } = await createReaders(world)
  const subject = { name: `${NAME}, 30 days, with metrics`, server, requests }
  const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  await measureFor(bench, subject, WARM_UP_S)
  const before = await scrape()
  const started_ms = performance.now()
  const [load] = await measureInterleaved(bench, [subject])
  const seconds = (performance.now() - started_ms) / 1_000
  const after = await scrape()
  await server.stop()
  const p99 = (series: string) => quantile(0.99, before, after, series)
  const collecting_s =
    sumsOf(after, 'nodejs_gc_duration_seconds_sum') - sumsOf(before, 'nodejs_gc_duration_seconds_sum')
  const finding = (what: string, value: number, unit: Finding['unit']) => ({
    what: `${NAME}: ${what}`,
    value: single(value),
    unit,
  })
  return {
    findings: [
      finding('commands to Redis, p99', 1_000 * p99('integration_store_wait_seconds store="redis"'), 'ms'),
      finding(
        'statements in Postgres, p99',
        1_000 * p99('integration_store_wait_seconds store="postgres"'),
        'ms',
      ),
      finding('requests of one turn of the event loop, p99', p99('integration_turn_requests'), 'ratio'),
      finding('share of the time that garbage collection takes', collecting_s / seconds, 'ratio'),
    ],
    loads: [figuresOf(load)],
  }
}

/** Returns the sum of all series of this name. */
const sumsOf = (text: string, name: string): number =>
  [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'gm'))].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  )

/** As histogram_quantile of Prometheus, between two scrapes. `series`: a name, and the label that it has besides `le`. */
export function quantile(share: number, before: string, after: string, series: string): number {
  const [name = '', label = ''] = series.split(' ')
  const bucket = new RegExp(`^${name}_bucket\\{le="([^"]+)"(?:,(.*))?\\} (\\S+)$`, 'gm')
  const countsOf = (text: string) =>
    [...text.matchAll(bucket)]
      .filter(([, , labels = '']) => labels === label)
      .map(([, le, , count]) => ({
        le: Number(le === '+Inf' ? Number.POSITIVE_INFINITY : le),
        count: Number(count),
      }))
  const earlier = new Map(countsOf(before).map(({ le, count }) => [le, count]))
  const counts = countsOf(after).map(({ le, count }) => ({ le, count: count - (earlier.get(le) ?? 0) }))
  const rank = share * (counts.at(-1)?.count ?? 0)
  const at = counts.findIndex(({ count }) => count >= rank)
  const [lower = { le: 0, count: 0 }, found = lower] = at > 0 ? counts.slice(at - 1) : [undefined, counts[at]]
  if (found.le === Number.POSITIVE_INFINITY) return lower.le
  return lower.le + ((found.le - lower.le) * (rank - lower.count)) / (found.count - lower.count || 1)
}
