import { addClients, analyze, createReaders, tokenRequest } from './fixtures.ts'
import { measureInterleaved, throughput } from './measure.ts'
import type { Bench } from './row.ts'

const STORED_CLIENTS = 1_000_000
const FEW_CLIENTS = 10
const MANY_CLIENTS = 100_000
const FEW_DAYS = 30
const MANY_DAYS = 366
const DAY_MS = 86_400_000

/** A token costs the same, however many clients there are and however many take turns. */
export async function growthByClients(bench: Bench) {
  const clients = await addClients(bench.db, STORED_CLIENTS)
  await analyze(bench.db)
  const subject = (count: number) => ({
    name: `token endpoint, ${count.toLocaleString('en')} of a million clients`,
    server: bench.auth,
    requests: clients.slice(0, count).map(tokenRequest),
  })
  const [many, few] = await measureInterleaved(bench, [subject(MANY_CLIENTS), subject(FEW_CLIENTS)])
  return [throughput(many, few, { beside: 'the same with 10', goal: { least: 0.9 } })]
}

/** A longer range may cost as many times as much as it has days. */
export async function growthByDays(bench: Bench) {
  const month = await createReaders(bench)
  const year = await createReaders(bench, `?from=${daysAgo(MANY_DAYS - 1)}&to=${daysAgo(0)}`)
  const [short, long] = await measureInterleaved(bench, [
    { name: `daily read, ${FEW_DAYS} days`, server: bench.api, requests: month.requests },
    { name: `daily read, ${MANY_DAYS} days`, server: bench.api, requests: year.requests },
  ])
  const what = `cost of a daily read of ${MANY_DAYS} days`
  const goal = { most: Number((MANY_DAYS / FEW_DAYS).toFixed(1)) }
  return [throughput(short, long, { what, beside: `one of ${FEW_DAYS} days`, goal })]
}

/** Yesterday in UTC is a day that has begun everywhere. */
const daysAgo = (days: number): string =>
  new Date(Date.now() - (days + 1) * DAY_MS).toISOString().slice(0, 10)
