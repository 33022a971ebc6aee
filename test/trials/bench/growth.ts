import { addClientsOfMany, analyze, tokenRequest } from './fixtures.ts'
import { measureBeside } from './measure.ts'
import { createReaders } from './readers.ts'
import type { Bench, Measurement, Row } from './row.ts'

const STORED_CLIENTS = 1_000_000
const DAYS = [30, 366] as const
const DAY_MS = 86_400_000

/** Costs grow as the work grows, and no faster. */
export const growthRows: Row[] = [
  { name: 'growth: clients', part: 'growth', measure: clients },
  { name: 'growth: days', part: 'growth', measure: days },
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
  const beside = { beside: 'the same with 10', goal: { least: 0.9 } }
  return measureBeside(bench, [subject(100_000), subject(10)], beside)
}

/** A longer range is more to read and to send: it may cost as many times as much as it has days. */
async function days(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const [few, many] = DAYS
  const month = await createReaders(world)
  const year = await createReaders(world, `?from=${daysAgo(many - 1)}&to=${daysAgo(0)}`)
  const short = { name: `daily read, ${few} days`, server: world.api, requests: month.requests }
  const long = { name: `daily read, ${many} days`, server: world.api, requests: year.requests }
  return measureBeside(bench, [short, long], {
    what: 'cost of a daily read of 366 days',
    beside: 'one of 30 days',
    goal: { most: Number((many / few).toFixed(1)) },
  })
}

/** Yesterday in UTC is a day that has begun everywhere. */
const daysAgo = (days: number): string =>
  new Date(Date.now() - (days + 1) * DAY_MS).toISOString().slice(0, 10)
