import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes } from './cores.ts'
import { addClientsOfMany, type BenchClient, requestToken } from './fixtures.ts'
import type { Bench, Finding, Measurement, Row } from './row.ts'
import { spread } from './statistics.ts'

const STARTS = 5

const IDLE_AFTER_MS = 5_000
const MEBIBYTE = 1_048_576

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
  const idleMemory = (name: string, of: number[]): Finding => ({
    what: `memory of the ${name}, idle`,
    goal: { most: 110 },
    value: spread(of),
    unit: 'MiB',
  })
  const what = 'first token of a started authorization server'
  return {
    findings: [
      { what, goal: { most: 0.6 }, value: spread(firstToken_s), unit: 's' },
      idleMemory('authorization server', idle.auth),
      idleMemory('resource API', idle.api),
    ],
    loads: [],
  }
}
