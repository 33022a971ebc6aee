import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { createDateOf } from '../../../shared/analytics/calendar.ts'
import { cpuSeconds } from './cores.ts'
import { addClients, addCompanies, type BenchClient, requestToken } from './fixtures.ts'
import { compared, type Measured, type Sample } from './measure.ts'
import { quietRounds, type Round, watchCore } from './quiet.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { World } from './world.ts'

const BATCH_EVENTS = 1_000
const BATCHES_A_ROUND = 100
/** Until Node has compiled what it runs. */
const WARM_UP_ROUNDS = 4
const CONNECTIONS = 4
const HOUR_MS = 3_600_000
/** Less than the 72 hours for which an event is taken: three or four days of the company. */
const EVENTS_SPREAD_MS = 70 * HOUR_MS
const BARE_TABLE = 'bench_events'

export const ingestRows: Row[] = [{ name: 'event ingest', part: 'speed', measure }]

/**
 * Events by HTTP, all of one company, each id new; and beside it the rows that they become, each batch by one INSERT
 * into a table that has their columns and the key that makes an event count once, and nothing else: no index, check or
 * partition. Bodies and rows are made before the time runs.
 */
async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const [vendorId] = (await addCompanies(world.db, 1, 0)) as [string]
  const [client] = (await addClients(world.db, [vendorId], 1, 'analytics:write')) as [BenchClient]
  await world.db.raw(
    `create table ${BARE_TABLE} (like analytics_events); alter table ${BARE_TABLE} add primary key (vendor_id, event_id)`,
  )
  const inserter = new pg.Pool({ connectionString: world.stores.BENCH_DATABASE_URL, max: CONNECTIONS })
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let sent = 0
  async function round(turn: number): Promise<Round<Sample[]>> {
    const batches = Array.from({ length: BATCHES_A_ROUND }, () => randomBatch(Date.now()))
    const token = await requestToken(world.auth, client, 'analytics:write')
    const bodies = batches.map(requestBody)
    const rows = batches.map((batch) => columnsOf(vendorId, batch))
    const byHttp: Load = (timed) =>
      atOnce(CONNECTIONS, bodies, (body) => timed(() => post(world, vendorId, body, { token, agent })))
    const byInsert: Load = (timed) =>
      atOnce(CONNECTIONS, rows, (values) => timed(() => insert(inserter, values)))
    const samples: Sample[] = []
    // In turn the first: what Postgres still does of itself after a load falls on the next one.
    for (const i of turn % 2 === 0 ? [0, 1] : [1, 0])
      samples[i] = await sample(world, i === 0 ? byHttp : byInsert)
    sent += BATCHES_A_ROUND * BATCH_EVENTS
    return { samples, others: Math.max(...samples.map(({ others }) => others)) }
  }

  const { rounds: wanted } = bench
  try {
    bench.progress('warming up')
    for (let turn = 0; turn < WARM_UP_ROUNDS; turn++) await round(turn)
    const { rounds, business } = await quietRounds(wanted, (turn) => {
      bench.progress(`round ${turn} for ${wanted} quiet ones`)
      return round(turn)
    })
    bench.measuredWhile(business)
    await requireRows(world, vendorId, sent)
    const both = ['batches of 1,000 events', 'one INSERT a batch'].map(
      (name, i): Measured => ({
        subject: { name, server: world.api },
        samples: rounds.map(({ samples }) => samples[i] as Sample),
      }),
    )
    return compared(both as [Measured, Measured], {
      what: 'events, in batches of 1,000',
      beside: 'one INSERT … ON CONFLICT a batch, the same key',
      goal: { least: 0.6 },
    })
  } finally {
    agent.destroy()
    await inserter.end()
    await world.db.raw(`drop table ${BARE_TABLE}`)
  }
}

type Timed = (work: () => Promise<void>) => Promise<void>
type Load = (timed: Timed) => Promise<void>

/** In batches. By CPU second counts the API and Postgres together, in cores the API alone. */
async function sample(world: World, load: Load): Promise<Sample> {
  const durations_ms: number[] = []
  const timed: Timed = async (work) => {
    const started_ms = performance.now()
    await work()
    durations_ms.push(performance.now() - started_ms)
  }
  const watched = watchCore(world.api)
  const before = { api: cpuSeconds(world.api.pids), postgres: await postgresCpuSeconds(world) }
  const started_ms = performance.now()
  await load(timed)
  const seconds = (performance.now() - started_ms) / 1_000
  const others = watched(seconds)
  const apiCpu = cpuSeconds(world.api.pids) - before.api
  const cpu = apiCpu + grown(before.postgres, await postgresCpuSeconds(world))
  const sorted = durations_ms.toSorted((a, b) => a - b)
  const percentile = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number
  return {
    perSecond: BATCHES_A_ROUND / seconds,
    perCpuSecond: BATCHES_A_ROUND / cpu,
    cores: apiCpu / seconds,
    p50_ms: percentile(0.5),
    p99_ms: percentile(0.99),
    others,
  }
}

/** Of the server and each of its children that is there, by pid. */
async function postgresCpuSeconds({ directory }: World): Promise<Map<number, number>> {
  const file = await readFile(join(directory, 'postgres', 'postmaster.pid'), 'utf8')
  const postmaster = Number(file.split('\n')[0])
  const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
  const seconds = new Map<number, number>()
  for (const pid of [postmaster, ...children.trim().split(' ').map(Number)]) {
    try {
      seconds.set(pid, cpuSeconds([pid]))
    } catch {
      // A worker of autovacuum that has just ended: what it did is not counted.
    }
  }
  return seconds
}

const grown = (before: Map<number, number>, after: Map<number, number>): number =>
  [...after].reduce((sum, [pid, seconds]) => sum + seconds - (before.get(pid) ?? 0), 0)

interface EventRow {
  eventId: string
  type: 'impression' | 'click' | 'order' | 'boost_spend'
  occurredAt: string
  date: string
  quantity: number | null
  amountMinor: number | null
}

const dateOf = createDateOf('Europe/Berlin')

function randomBatch(now_ms: number): EventRow[] {
  return Array.from({ length: BATCH_EVENTS }, () => {
    const occurred_ms = now_ms - Math.floor(Math.random() * EVENTS_SPREAD_MS)
    const dice = Math.random()
    const type = dice < 0.6 ? 'impression' : dice < 0.85 ? 'click' : dice < 0.95 ? 'order' : 'boost_spend'
    return {
      eventId: randomUUID(),
      type,
      occurredAt: new Date(occurred_ms).toISOString(),
      date: dateOf(occurred_ms),
      quantity: type === 'boost_spend' ? null : 1 + Math.floor(Math.random() * 20),
      amountMinor: type === 'order' || type === 'boost_spend' ? Math.floor(Math.random() * 1e5) : null,
    }
  })
}

function requestBody(batch: EventRow[]): Buffer {
  const events = batch.map(({ date: _, quantity, amountMinor, ...event }) => ({
    ...event,
    ...(quantity !== null && { quantity }),
    ...(amountMinor !== null && { amountMinor, currency: 'EUR' }),
  }))
  return Buffer.from(JSON.stringify({ events }))
}

const INSERT = {
  name: 'bench-insert',
  text: `insert into ${BARE_TABLE} (vendor_id, received_at, event_id, type, date, occurred_at, quantity, amount_minor)
    select $1, now(), * from unnest($2::text[], $3::analytics_event_type[], $4::date[], $5::timestamptz[], $6::bigint[], $7::bigint[])
    on conflict do nothing`,
}

/** What INSERT takes: the company, and an array for each column. */
function columnsOf(vendorId: string, batch: EventRow[]): unknown[] {
  const column = (pick: (row: EventRow) => unknown) => batch.map(pick)
  return [
    vendorId,
    column((row) => row.eventId),
    column((row) => row.type),
    column((row) => row.date),
    column((row) => row.occurredAt),
    column((row) => row.quantity),
    column((row) => row.amountMinor),
  ]
}

/** @throws Error when the batch is not stored whole. */
async function insert(inserter: pg.Pool, values: unknown[]): Promise<void> {
  const { rowCount } = await inserter.query({ ...INSERT, values })
  if (rowCount !== BATCH_EVENTS) throw new Error(`of a batch ${rowCount} rows were inserted`)
}

/** Does the work of each, so many at a time. */
async function atOnce<T>(count: number, each: T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = each.values()
  const worker = async () => {
    for (const one of left) await work(one)
  }
  await Promise.all(Array.from({ length: count }, worker))
}

/** @throws Error when the batch is not stored whole. */
async function post(
  { api }: World,
  vendorId: string,
  body: Buffer,
  { token, agent }: { token: string; agent: Agent },
): Promise<void> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  }
  const sent = request(`${api.url}/v1/analytics/${vendorId}/events`, { method: 'POST', agent, headers })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  if (response.statusCode !== 200 || JSON.parse(text).accepted !== BATCH_EVENTS)
    throw new Error(`a batch was not stored whole: ${response.statusCode} ${text.slice(0, 200)}`)
}

async function requireRows({ db }: World, vendorId: string, sent: number): Promise<void> {
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
