import { setTimeout as sleep } from 'node:timers/promises'
import { addClientsOfMany, analyze, type BenchClient } from './fixtures.ts'
import type { Goal } from './goals.ts'
import { type Measured, measureInterleaved } from './measure.ts'
import type { HttpRequest } from './requests.ts'
import type { Bench, Finding, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'
import type { World } from './world.ts'

/** Whoever polls does so every second or two. */
const PAGES: { entries: number; goal: Goal }[] = [
  { entries: 1_000, goal: { most: 10 } },
  { entries: 100_000, goal: { most: 500 } },
]
/** A page lives for a second, and a round of reconciliation takes no longer. */
const SETTLED_MS = 3_000
const FEED: HttpRequest = { method: 'GET', path: '/v1/oauth/revocations', headers: {} }

export const revocationFeedRows: Row[] = [{ name: 'page of revocations', part: 'speed', measure }]

/** The page is made once a second, so that what a request costs is sending it. The sizes cannot take turns. */
async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const { db, auth } = world
  const [client] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const findings: Finding[] = []
  const loads: Measured[] = []
  try {
    let stored = 0
    for (const { entries, goal } of PAGES) {
      await addRevokedTokens(world, client, entries - stored)
      stored = entries
      const name = `page of revocations, ${entries.toLocaleString('en')} entries`
      const [feed] = await measureInterleaved(bench, [{ name, server: auth, requests: [FEED] }])
      const p99 = spread(feed.samples.map(({ p99_ms }) => p99_ms))
      findings.push({ what: `${name}: p99`, goal, value: p99, unit: 'ms' })
      loads.push(feed)
    }
  } finally {
    await db.raw('delete from revoked_tokens where client_id = ?', [client.clientId])
  }
  return { findings, loads: loads }
}

async function addRevokedTokens({ db }: World, { clientId }: BenchClient, count: number): Promise<void> {
  await db.raw(
    `insert into revoked_tokens (jti, client_id, expires_at)
     select gen_random_uuid()::text, ?, now() + interval '1 hour' from generate_series(1, ?::int)`,
    [clientId, count],
  )
  await analyze(db)
  await sleep(SETTLED_MS)
}
