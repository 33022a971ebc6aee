import { Redis } from 'ioredis'
import { fillLargestCompany } from '../../support/largest-company.ts'
import { signInAsOwner } from './client-list.ts'
import { addCompanies } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { figuresOf, measureInterleaved, throughputRatio } from './measure.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Measurement, Row } from './row.ts'

/** A page shows the same number of refusals, whatever else is kept. */
const GOAL: Goal = { least: 0.5 }

export const largestCompanyRows: Row[] = [
  { name: 'refused requests, 20,000 in the company', part: 'speed', measure },
]

async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const [vendorId] = (await addCompanies(world.db, 1, 1)) as [string]
  const { userId, session } = await signInAsOwner(world, vendorId)
  const redis = new Redis(world.stores.BENCH_REDIS_URL)
  const { requestId } = await fillLargestCompany(
    { db: world.db, redis },
    { vendorId, userId, now_ms: Date.now() },
  )
  redis.disconnect()
  const get = (path: string): HttpRequest => ({
    method: 'GET',
    path: `/v1/vendor/${vendorId}${path}`,
    headers: { Authorization: `Bearer ${session}` },
  })
  const [one, page] = await measureInterleaved(bench, [
    { name: 'one refused request, by its id', server: world.api, requests: [get(`/refusals/${requestId}`)] },
    { name: 'page of 50 refused requests', server: world.api, requests: [get('/refusals')] },
  ])
  return {
    findings: [
      {
        what: 'page of 50 refused requests, 20,000 in the company',
        beside: 'one refused request, by its id',
        goal: GOAL,
        ...throughputRatio(page, one),
      },
    ],
    loads: [page, one].map(figuresOf),
  }
}
