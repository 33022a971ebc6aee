import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { createDateFinder } from '../../../apps/api/analytics/calendar.ts'
import { cpuSeconds, listChildren, watchServer } from './cores.ts'
import { addClients, obtainToken } from './fixtures.ts'
import { measureRounds, type Sample, throughput } from './measure.ts'
import type { Bench } from './row.ts'
import type { BenchServers } from './world.ts'

const BATCH_EVENTS = 1_000
const BATCHES_PER_ROUND = 100
/** How long Node takes to compile what it runs. */
const WARM_UP_ROUNDS = 4
const CONNECTIONS = 4
/** Less than the 72 hours for which an event is accepted: three or four days of the company. */
const EVENTS_SPREAD_MS = 70 * 3_600_000
const BARE_TABLE = 'bench_events'

/**
 * Compares events by HTTP, all of one company and with new ids, with inserting their rows: one INSERT a
 * batch, into a table that has the columns and the key that makes an event count once, but no index, check or
 * partition. Bodies and rows are prepared before the clock starts.
 */
export async function ingest(bench: Bench) {
  const [client] = await addClients(bench.db, 1, { scope: 'analytics:write' })
  const { vendorId } = client
  await bench.db.raw(
    `create table ${BARE_TABLE} (like analytics_events); alter table ${BARE_TABLE} add primary key (vendor_id, event_id)`,
  )
  const inserter = new pg.Pool({ connectionString: bench.databaseUrl, max: CONNECTIONS })
  const url = `${bench.api.url}/v1/analytics/${vendorId}/events`
  let sent = 0
  async function round(turn: number): Promise<Sample[]> {
    const batches = Array.from({ length: BATCHES_PER_ROUND }, randomBatch)
    sent += BATCHES_PER_ROUND * BATCH_EVENTS
    const headers = {
      Authorization: `Bearer ${await obtainToken(bench.auth, client)}`,
      'Content-Type': 'application/json',
    }
    const bodies = batches.map((events) => Buffer.from(JSON.stringify({ events })))
    const rows = batches.map((events) => [vendorId, ...toColumns(events)])
    const byHttp = () =>
      sample(bench, bodies, async (body) => {
        const response = await fetch(url, { method: 'POST', headers, body })
        const text = await response.text()
        if (response.status !== 200 || JSON.parse(text).accepted !== BATCH_EVENTS)
          throw new Error(`a batch was not stored whole: ${response.status} ${text.slice(0, 200)}`)
      })
    const byInsert = () =>
      sample(bench, rows, async (values) => {
        const { rowCount } = await inserter.query({ ...INSERT, values })
        if (rowCount !== BATCH_EVENTS) throw new Error(`of a batch ${rowCount} rows were inserted`)
      })
    // They take turns to be first: what Postgres still does after a load falls on the next one.
    if (turn % 2 === 0) return [await byHttp(), await byInsert()]
    return [await byInsert(), await byHttp()].reverse()
  }

  try {
    bench.progress('warming up')
    for (let turn = 0; turn < WARM_UP_ROUNDS; turn++) await round(turn)
    const names: [string, string] = ['batches of 1,000 events', 'one INSERT a batch']
    const [http, inserts] = await measureRounds(bench, names, round)
    await requireRows(bench, vendorId, sent)
    return [
      throughput(http, inserts, {
        what: 'events, in batches of 1,000',
        beside: 'one INSERT … ON CONFLICT a batch, the same key',
        goal: { least: 0.6 },
      }),
    ]
  } finally {
    await inserter.end()
    await bench.db.raw(`drop table ${BARE_TABLE}`)
  }
}

/** Does the work of each batch. CPU seconds count the API and Postgres together, cores the API alone. */
async function sample<T>(
  world: BenchServers,
  batches: T[],
  work: (batch: T) => Promise<void>,
): Promise<Sample> {
  const durations_ms: number[] = []
  const pending = batches.values()
  const worker = async () => {
    for (const batch of pending) {
      const started_ms = performance.now()
      await work(batch)
      durations_ms.push(performance.now() - started_ms)
    }
  }
  const watched = watchServer(world.api.pid)
  const postgresBefore = await postgresCpuSeconds(world)
  const started_ms = performance.now()
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  const seconds = (performance.now() - started_ms) / 1_000
  const { cpu, others } = watched(seconds)
  const postgresCpu = (await postgresCpuSeconds(world)) - postgresBefore
  const sorted = durations_ms.toSorted((a, b) => a - b)
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number
  return {
    perSecond: batches.length / seconds,
    perCpuSecond: batches.length / (cpu + postgresCpu),
    cores: cpu / seconds,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    others,
  }
}

/** A child that ends meanwhile is then counted by the first process of the server, which comes last. */
async function postgresCpuSeconds({ postgresDirectory }: BenchServers): Promise<number> {
  const postmaster = Number.parseInt(await readFile(join(postgresDirectory, 'postmaster.pid'), 'utf8'), 10)
  let sum = 0
  for (const pid of [...listChildren(postmaster), postmaster]) {
    try {
      sum += cpuSeconds(pid)
    } catch {
      // A worker of autovacuum that has just ended.
    }
  }
  return sum
}

const dateOf = createDateFinder('Europe/Berlin')

type Event = ReturnType<typeof randomEvent>

const randomBatch = (): Event[] => Array.from({ length: BATCH_EVENTS }, randomEvent)

function randomEvent() {
  const dice = Math.random()
  const type = dice < 0.6 ? 'impression' : dice < 0.85 ? 'click' : dice < 0.95 ? 'order' : 'boost_spend'
  const hasAmount = type === 'order' || type === 'boost_spend'
  return {
    eventId: randomUUID(),
    type,
    occurredAt: new Date(Date.now() - Math.floor(Math.random() * EVENTS_SPREAD_MS)).toISOString(),
    quantity: type === 'boost_spend' ? undefined : 1 + Math.floor(Math.random() * 20),
    amountMinor: hasAmount ? Math.floor(Math.random() * 1e5) : undefined,
    currency: hasAmount ? 'EUR' : undefined,
  }
}

const INSERT = {
  name: 'bench-insert',
  text: `insert into ${BARE_TABLE}
      (vendor_id, received_at, event_id, type, date, occurred_at, quantity, amount_minor)
    select $1, now(), * from unnest($2::text[], $3::analytics_event_type[], $4::date[],
      $5::timestamptz[], $6::bigint[], $7::bigint[])
    on conflict do nothing`,
}

/** What INSERT takes besides the company: an array for each column. */
const toColumns = (events: Event[]): unknown[] => [
  events.map(({ eventId }) => eventId),
  events.map(({ type }) => type),
  events.map(({ occurredAt }) => dateOf(Date.parse(occurredAt))),
  events.map(({ occurredAt }) => occurredAt),
  events.map(({ quantity }) => quantity),
  events.map(({ amountMinor }) => amountMinor),
]

async function requireRows({ db }: BenchServers, vendorId: string, sent: number): Promise<void> {
  const { rows } = await db.raw(
    `select (select count(*) from analytics_events where vendor_id = :vendorId)::int as stored,
       (select count(*) from analytics_event_ids where vendor_id = :vendorId)::int as remembered,
       (select count(*) from ${BARE_TABLE})::int as inserted`,
    { vendorId },
  )
  const { stored, remembered, inserted } = rows[0]
  if (stored !== sent || remembered !== sent || inserted !== sent)
    throw new Error(`of ${sent} events ${stored} are stored, ${remembered} remembered, ${inserted} inserted`)
}
