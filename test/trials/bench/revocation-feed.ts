import { setTimeout as sleep } from 'node:timers/promises'
import { analyze } from './fixtures.ts'
import { measureInterleaved, p99 } from './measure.ts'
import type { Bench, Finding } from './row.ts'

/** Verifiers poll every second or two. */
const PAGES = [
  { entries: 1_000, goal: { most: 10 } },
  { entries: 100_000, goal: { most: 500 } },
]
/** A page lives for a second, and a round of reconciliation takes no longer. */
const SETTLED_MS = 3_000
const FEED = { path: '/v1/oauth/revocations', headers: {} }

/** The page is made once a second, so a request costs the sending. The sizes cannot take turns. */
export async function revocationFeed(bench: Bench) {
  const { db, auth: server } = bench
  const findings: Finding[] = []
  try {
    let stored = 0
    for (const { entries, goal } of PAGES) {
      await db.raw(
        `insert into revoked_tokens (jti, expires_at)
         select gen_random_uuid()::text, now() + interval '1 hour' from generate_series(1, ?::int)`,
        [entries - stored],
      )
      stored = entries
      await analyze(db)
      await sleep(SETTLED_MS)
      const name = `page of revocations, ${entries.toLocaleString('en')} entries`
      const [feed] = await measureInterleaved(bench, [{ name, server, requests: [FEED] }])
      findings.push(p99(feed, { goal }))
    }
  } finally {
    await db.raw('delete from revoked_tokens where client_id is null')
  }
  return findings
}
