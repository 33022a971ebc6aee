import { setTimeout as sleep } from 'node:timers/promises'
import { residentMib } from './cores.ts'
import { addClients, createReaders, obtainToken, tokenRequest } from './fixtures.ts'
import { loadFor, type Subject } from './measure.ts'
import type { Bench, Finding } from './row.ts'
import { spread } from './statistics.ts'

const CLIENTS = 10_000
const WATCHED_S = 600
const NOTED_EVERY_SAMPLES = 10
/** Two parts of ten minutes: the second to the fourth, once heap and caches are full, and the last three. */
const EARLY = { from: 0.2, to: 0.4 }
const LATE = { from: 0.7, to: 1 }

const STARTS = 5
const IDLE_AFTER_MS = 5_000

/** Loads both services at once for minutes, and samples their processes' resident memory every second. */
export async function memoryUnderLoad(bench: Bench) {
  const requests = (await addClients(bench.db, CLIENTS)).map(tokenRequest)
  const reads = await createReaders(bench)
  const subjects = [
    { name: 'authorization server', server: bench.auth, requests },
    { name: 'resource API', server: bench.api, requests: reads },
  ]
  const loaded = Promise.all(subjects.map((subject) => loadFor(bench, subject, WATCHED_S)))
  const watched = Promise.all(subjects.map((subject) => watch(bench, subject)))
  const [memory] = await Promise.all([watched, loaded])
  return subjects.flatMap(({ name }, i) => buildFindings(name, memory[i] ?? []))
}

/** Returns MiB, one figure a second. */
async function watch({ progress, forgetLogs }: Bench, { name, server }: Subject): Promise<number[]> {
  const samples: number[] = []
  for (const end_ms = Date.now() + WATCHED_S * 1_000; Date.now() < end_ms; ) {
    await sleep(1_000)
    const mib = residentMib(server.pid)
    samples.push(mib)
    if (samples.length % NOTED_EVERY_SAMPLES === 0) {
      progress(`${name} ${Math.round(mib)} MiB after ${samples.length} of ${WATCHED_S} s`)
      // Ten minutes of audit log are a gigabyte.
      await forgetLogs()
    }
  }
  return samples
}

function buildFindings(name: string, samples: number[]): Finding[] {
  const part = ({ from, to }: typeof EARLY) =>
    spread(samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length)))
  const late = part(LATE)
  return [
    { what: `memory of the ${name}, loaded`, goal: { most: 200 }, value: late, unit: 'MiB' },
    {
      what: `memory of the ${name}, the last 3 of 10 minutes`,
      beside: 'minutes 2 to 4',
      goal: { most: 1.05 },
      value: spread([late.median / part(EARLY).median]),
      unit: 'ratio',
    },
  ]
}

/** Runs alone on the server's core. The first start only fills Node's compile cache. */
export async function startAndIdleMemory(bench: Bench) {
  const [client] = await addClients(bench.db, 1)
  const firstToken_s: number[] = []
  const idle = { auth: [] as number[], api: [] as number[] }
  for (let start = 0; start <= STARTS; start++) {
    bench.progress(`start ${start} of ${STARTS}`)
    const started_ms = performance.now()
    const auth = await bench.startService('auth')
    await obtainToken(auth, client)
    const seconds = (performance.now() - started_ms) / 1e3
    const api = await bench.startService('api')
    await sleep(IDLE_AFTER_MS)
    if (start > 0) {
      firstToken_s.push(seconds)
      idle.auth.push(residentMib(auth.pid))
      idle.api.push(residentMib(api.pid))
    }
    await Promise.all([auth.stop(), api.stop()])
  }
  const idleMemory = (name: string, values: number[]): Finding => ({
    what: `memory of the ${name}, idle`,
    goal: { most: 110 },
    value: spread(values),
    unit: 'MiB',
  })
  const what = 'first token of a started authorization server'
  const firstToken: Finding = { what, goal: { most: 0.6 }, value: spread(firstToken_s), unit: 's' }
  return [firstToken, idleMemory('authorization server', idle.auth), idleMemory('resource API', idle.api)]
}
