import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { createDateOf } from '../../shared/analytics/calendar.ts'
import { copyIn } from './copy.ts'
import { cpuSeconds } from './cores.ts'
import { addClients, addCompanies, type BenchClient, requestToken } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { figuresOf, type Measured, type Sample, throughputRatio } from './measure.ts'
import type { Bench, Measurement, Row } from './row.ts'
import type { World } from './world.ts'

const GOAL: Goal = { least: 0.3, moonshot: 0.4 }
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
 * Events by HTTP, all of one company, each id new; and beside it the rows that they become, by COPY into a table that
 * has their columns and nothing else: no key, index, check or partition. Bodies and lines are made before the time
 * runs.
 */
async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const [vendorId] = (await addCompanies(world.db, 1, 0)) as [string]
  const [client] = (await addClients(world.db, [vendorId], 1, 'analytics:write')) as [BenchClient]
  await world.db.raw(`create table ${BARE_TABLE} as select * from analytics_events with no data`)
  const copier = new pg.Client(world.db.client.config.connection)
  await copier.connect()
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const measured = (name: string): Measured => ({ subject: { name, server: world.api }, samples: [] })
  const http = measured('batches of 1,000 events')
  const copies = measured('one COPY a batch')
  const copy = measured('one COPY of 100 batches')
  const { rounds } = bench.conditions
  try {
    for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round++) {
      bench.progress(round > 0 ? `round ${round} of ${rounds}` : 'warming up')
      const batches = Array.from({ length: BATCHES_A_ROUND }, () => randomBatch(Date.now()))
      const token = await requestToken(world.auth, client, 'analytics:write')
      const bodies = batches.map(requestBody)
      const lines = batches.map((batch) => copyLines(vendorId, batch))
      const byHttp: Load = (timed) =>
        atOnce(CONNECTIONS, bodies, (body) => timed(() => post(world, vendorId, body, { token, agent })))
      const byCopies: Load = (timed) =>
        atOnce(1, lines, (each) => timed(() => copyIn(copier, BARE_TABLE, [each])))
      const byCopy: Load = (timed) => timed(() => copyIn(copier, BARE_TABLE, lines))
      const loads: [Measured, Load][] = [
        [http, byHttp],
        [copies, byCopies],
        [copy, byCopy],
      ]
      // What Postgres still does of itself after a load falls on the next one.
      for (const [{ samples }, load] of round % 2 === 0 ? loads : loads.toReversed()) {
        const one = await sample(world, load)
        if (round > 0) samples.push(one)
      }
    }
    await requireRows(world, vendorId, (WARM_UP_ROUNDS + rounds) * BATCHES_A_ROUND * BATCH_EVENTS)
  } finally {
    agent.destroy()
    await copier.end()
    await world.db.raw(`drop table ${BARE_TABLE}`)
  }
  const what = 'events, in batches of 1,000'
  return {
    findings: [
      { what, beside: 'one COPY a batch, bare table', goal: GOAL, ...throughputRatio(http, copies) },
      { what, beside: 'one COPY of all, bare table', ...throughputRatio(http, copy) },
    ],
    loads: [http, copies, copy].map(figuresOf),
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
  const before = { api: cpuSeconds(world.api.pids), postgres: await postgresCpuSeconds(world) }
  const started_ms = performance.now()
  await load(timed)
  const seconds = (performance.now() - started_ms) / 1_000
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

/** In the order of the table's columns. */
function copyLines(vendorId: string, batch: EventRow[]): Buffer {
  const receivedAt = new Date().toISOString()
  const lines = batch.map(({ eventId, type, date, occurredAt, quantity, amountMinor }) => {
    const values = [vendorId, eventId, type, date, occurredAt, receivedAt, quantity, amountMinor]
    return values.map((value) => value ?? '\\N').join('\t')
  })
  return Buffer.from(`${lines.join('\n')}\n`)
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
       (select count(*) from ${BARE_TABLE})::int as copied`,
    { vendorId },
  )
  const { stored, remembered, copied } = rows[0]
  if (stored !== sent || remembered !== sent || copied !== 2 * sent)
    throw new Error(`of ${sent} events ${stored} are stored, ${remembered} remembered, ${copied} copied`)
}
