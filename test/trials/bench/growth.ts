import { startKoa } from './daily.ts'
import { fillTables } from './filled-tables.ts'
import { addClientsOfMany, analyze, type BenchClient, tokenRequest } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, throughputRatio } from './measure.ts'
import { plansOf } from './plans.ts'
import { createReaders } from './readers.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'
import type { World } from './world.ts'

const STORED_CLIENTS = 1_000_000
/** So many of them ask in turn. */
const CLIENTS = [10, 1_000, 100_000] as const
const DAYS = [30, 366] as const
const EVENTS = 10_000_000
const DAY_MS = 86_400_000

/** Its statement reads what is revoked now, and not every client or token that ever was. */
const REVOCATIONS: HttpRequest = { method: 'GET', path: '/v1/oauth/revocations', headers: {} }

const NOT_DEARER: Goal = { least: 0.9 }

/** Costs grow as the work grows, and no faster. */
export const growthRows: Row[] = [
  { name: 'growth: clients', part: 'growth', measure: clients },
  { name: 'growth: days', part: 'growth', measure: days },
  { name: 'growth: events', part: 'growth', measure: events },
]

/** A token is the same work, however many clients there are and however many of them ask. */
async function clients(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const all = await addClientsOfMany(world.db, STORED_CLIENTS)
  await analyze(world.db)
  const subject = (count: number) => ({
    name: `token endpoint, ${count.toLocaleString('en')} of a million clients`,
    server: world.auth,
    requests: all.slice(0, count).map((client) => tokenRequest(client)),
  })
  const [ten, thousand, most] = await measureInterleaved(bench, [
    subject(CLIENTS[0]),
    subject(CLIENTS[1]),
    subject(CLIENTS[2]),
  ])
  return {
    findings: [thousand, most].map((more) => ({
      what: more.subject.name,
      beside: 'the same with 10',
      goal: NOT_DEARER,
      ...throughputRatio(more, ten),
    })),
    loads: [ten, thousand, most].map(figuresOf),
    plans: await plansOf(world, 'auth', [tokenRequest(all.at(-1) as BenchClient), REVOCATIONS]),
  }
}

/** A longer range is more to read and to send: it may cost as many times as much as it has days. */
async function days(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  await fillTables(world)
  const [few, many] = DAYS
  const month = await createReaders(world)
  const year = await createReaders(world, `?from=${daysAgo(many - 1)}&to=${daysAgo(0)}`)
  const [short, long] = await measureInterleaved(bench, [
    { name: `daily read, ${few} days`, server: world.api, requests: month.requests },
    { name: `daily read, ${many} days`, server: world.api, requests: year.requests },
  ])
  return {
    findings: [
      {
        what: 'cost of a daily read of 366 days',
        beside: 'one of 30 days',
        goal: { most: Number((many / few).toFixed(1)) },
        ...throughputRatio(short, long),
      },
    ],
    loads: [short, long].map(figuresOf),
    plans: await plansOf(world, 'api', [...month.requests, ...year.requests]),
  }
}

/** Yesterday in UTC is a day that has begun everywhere. */
const daysAgo = (days: number): string =>
  new Date(Date.now() - (days + 1) * DAY_MS).toISOString().slice(0, 10)

/**
 * The daily read before and after ten million events were stored. They cannot take turns, so that each is measured
 * beside bare Koa, and the two ratios are compared.
 */
async function events(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  await fillTables(world)
  const readers = await createReaders(world)
  const koa = await startKoa(bench, world, readers)
  const pair = (name: string) =>
    measureInterleaved(bench, [
      { name, server: world.api, requests: readers.requests },
      { name: `bare Koa beside ${name}`, server: koa, requests: readers.requests },
    ])
  const [before, koaBefore] = await pair('daily read, no events')
  bench.progress('storing 10 million events')
  await addEvents(world)
  const [after, koaAfter] = await pair('daily read, 10 million events')
  const ratios = { before: throughputRatio(before, koaBefore), after: throughputRatio(after, koaAfter) }
  return {
    findings: [
      {
        what: 'daily read, 10 million events stored',
        beside: 'the same with none',
        goal: NOT_DEARER,
        value: spread([ratios.after.value.median / ratios.before.value.median]),
        unit: 'ratio',
      },
    ],
    loads: [before, koaBefore, after, koaAfter].map(figuresOf),
    plans: await plansOf(world, 'api', readers.requests),
  }
}

/** Straight into the partitions that there are, of all companies alike, in the order of the index. */
async function addEvents({ db }: World): Promise<void> {
  const { rows: partitions } = await db.raw(
    `select inhrelid::regclass::text as name, pg_get_expr(relpartbound, inhrelid) as bound
     from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'analytics_events'::regclass and not pg_get_expr(relpartbound, inhrelid) = 'DEFAULT'`,
  )
  const { rows: companies } = await db.raw('select vendor_id from companies order by vendor_id limit 2000')
  const ids = companies.map((row: { vendor_id: string }) => row.vendor_id)
  const each = Math.ceil(EVENTS / partitions.length / ids.length)
  for (const { name, bound } of partitions as { name: string; bound: string }[]) {
    const receivedAt = /FROM \('([^']+)'\)/.exec(bound)?.[1] ?? ''
    await db.raw(
      `insert into ${name} (vendor_id, event_id, type, date, occurred_at, received_at, quantity)
       select vendor, 'evt_' || n, 'click', current_date - n / 100, now(), ?::timestamptz, 1
       from unnest(?::text[]) as vendor, generate_series(?::int, 1, -1) as n`,
      [receivedAt, ids, each],
    )
  }
  await analyze(db)
}
