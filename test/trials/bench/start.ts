import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes } from './cores.ts'
import { addClientsOfMany, type BenchClient, requestToken } from './fixtures.ts'
import type { Goal } from './goals.ts'
import type { Bench, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'

const STARTS = 5

const IDLE_AFTER_MS = 5_000
const MEBIBYTE = 1_048_576
const FIRST_TOKEN_GOAL: Goal = { most: 0.6 }
const IDLE_GOAL: Goal = { most: 110 }

export const startRows: Row[] = [{ name: 'start and idle memory', part: 'speed', measure: measureServices }]

/** Alone on the server's core. The first start only fills Node's compile cache. */
async function measureServices(bench: Bench): Promise<Measurement> {
  const { db, startService } = await bench.world()
  const [client] = (await addClientsOfMany(db, 1)) as [BenchClient]
  const firstToken_s: number[] = []
  const idle: Record<'auth' | 'api', number[]> = { auth: [], api: [] }
  for (let start = 0; start <= STARTS; start++) {
    bench.progress(`start ${start} of ${STARTS}`)
    const started_ms = performance.now()
    const auth = await startService('auth')
    await requestToken(auth, client)
    const seconds = (performance.now() - started_ms) / 1e3
    const api = await startService('api')
    await sleep(IDLE_AFTER_MS)
    if (start > 0) {
      firstToken_s.push(seconds)
      idle.auth.push(residentBytes(auth.pids[0] as number) / MEBIBYTE)
      idle.api.push(residentBytes(api.pids[0] as number) / MEBIBYTE)
    }
    await Promise.all([auth.stop(), api.stop()])
  }
  return {
    findings: [
      {
        what: 'first token of a started authorization server',
        goal: FIRST_TOKEN_GOAL,
        value: spread(firstToken_s),
        unit: 's',
      },
      {
        what: 'memory of the authorization server, idle',
        goal: IDLE_GOAL,
        value: spread(idle.auth),
        unit: 'MiB',
      },
      {
        what: 'memory of the resource API, idle',
        goal: IDLE_GOAL,
        value: spread(idle.api),
        unit: 'MiB',
      },
    ],
    loads: [],
  }
}
