import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes } from './cores.ts'
import { addClientsOfMany, tokenRequest } from './fixtures.ts'
import { measureFor, type Subject } from './measure.ts'
import { createReaders } from './readers.ts'
import type { Bench, Finding, Measurement, Row } from './row.ts'
import { single, spread } from './statistics.ts'

const CLIENTS = 10_000
const WATCHED_S = 600
const SAMPLE_EVERY_MS = 1_000
const NOTED_EVERY_SAMPLES = 10
const MEBIBYTE = 1_048_576

/** Of ten minutes, from the second to the fourth, when heap and caches have their size, and the last three. */
const EARLY = { from: 0.2, to: 0.4 }
const LATE = { from: 0.7, to: 1 }

export const memoryRows: Row[] = [{ name: 'memory', part: 'memory', measure }]

/** Loads both services at once, for minutes, and looks at the resident memory of their processes every second. */
async function measure(bench: Bench): Promise<Measurement> {
  const world = await bench.world()
  const clients = await addClientsOfMany(world.db, CLIENTS)
  const { requests: reads } = await createReaders(world)
  const subjects: Subject[] = [
    {
      name: 'authorization server',
      server: world.auth,
      requests: clients.map((client) => tokenRequest(client)),
    },
    { name: 'resource API', server: world.api, requests: reads },
  ]
  const loaded = Promise.all(subjects.map((subject) => measureFor(bench, subject, WATCHED_S)))
  const watched = Promise.all(subjects.map((subject) => watch(bench, subject, WATCHED_S)))
  const [measured, memory] = await Promise.all([loaded, watched])
  return {
    findings: subjects.flatMap(({ name }, i) => findingsOf(name, memory[i] ?? [])),
    loads: measured,
  }
}

/** @returns MiB, one figure a second. */
async function watch(
  { servers, progress }: Bench,
  { name, server }: Subject,
  seconds: number,
): Promise<number[]> {
  const samples: number[] = []
  const end_ms = Date.now() + seconds * 1_000
  while (Date.now() < end_ms) {
    await sleep(SAMPLE_EVERY_MS, undefined, { ref: false })
    const sum = server.pids.reduce((total, pid) => total + residentBytes(pid), 0)
    samples.push(sum / MEBIBYTE)
    if (samples.length % NOTED_EVERY_SAMPLES === 0) {
      progress(`${name} ${Math.round(sum / MEBIBYTE)} MiB after ${samples.length} of ${seconds} s`)
      // Ten minutes of audit log are a gigabyte.
      await servers.forgetLogs()
    }
  }
  return samples
}

function findingsOf(name: string, samples: number[]): Finding[] {
  const part = ({ from, to }: typeof EARLY) =>
    spread(samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length)))
  const early = part(EARLY)
  const late = part(LATE)
  return [
    { what: `memory of the ${name}, loaded`, goal: { most: 200 }, value: late, unit: 'MiB' },
    {
      what: `memory of the ${name}, the last 3 of 10 minutes`,
      beside: 'minutes 2 to 4',
      goal: { most: 1.05 },
      value: single(late.median / early.median),
      unit: 'ratio',
    },
  ]
}
