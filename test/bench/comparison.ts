import { cpuSeconds } from './cores.ts'
import { type Spread, spread } from './statistics.ts'
import type { Server } from './world.ts'
import { generate, type Load, type Measured } from './wrk.ts'

/** One thing under load: what is sent, and the server whose CPU time counts. */
export interface Subject {
  name: string
  server: Server
  load: Omit<Load, 'connections' | 'seconds'>
}

export interface Sample extends Measured {
  /** Requests per CPU second of the server's processes: does not depend on what else the machine did. */
  perCpuSecond: number
  /** How busy the server's processes were, in cores. */
  busy: number
}

export interface SubjectResult {
  name: string
  perSecond: Spread
  perCpuSecond: Spread
  p50_ms: Spread
  p99_ms: Spread
  busy: Spread
}

export interface Conditions {
  rounds: number
  seconds: number
  connections: number
}

/**
 * Loads each subject in turn, round after round, so that what the machine does meanwhile falls on all alike. The
 * first round warms up and is not counted.
 * @throws Error when a subject refused or failed a request: a refusal must never pass for speed.
 */
export async function measureInterleaved(
  subjects: Subject[],
  conditions: Conditions,
): Promise<SubjectResult[]> {
  const samples = subjects.map(() => [] as Sample[])
  for (let round = 0; round <= conditions.rounds; round++) {
    for (const [index, subject] of subjects.entries()) {
      const sample = await measure(subject, conditions)
      if (round > 0) samples[index]?.push(sample)
    }
  }
  return subjects.map((subject, index) => summary(subject.name, samples[index] ?? []))
}

async function measure(
  { name, server, load }: Subject,
  { seconds, connections }: Conditions,
): Promise<Sample> {
  const before = cpuSeconds(server.pids)
  const measured = await generate({ ...load, seconds, connections })
  const cpu = cpuSeconds(server.pids) - before
  if (measured.refused || measured.failed) {
    throw new Error(`${name}: ${measured.refused} requests were refused and ${measured.failed} failed`)
  }
  return { ...measured, perCpuSecond: measured.requests / cpu, busy: cpu / seconds }
}

function summary(name: string, samples: Sample[]): SubjectResult {
  const of = (pick: (sample: Sample) => number) => spread(samples.map(pick))
  return {
    name,
    perSecond: of((s) => s.perSecond),
    perCpuSecond: of((s) => s.perCpuSecond),
    p50_ms: of((s) => s.p50_ms),
    p99_ms: of((s) => s.p99_ms),
    busy: of((s) => s.busy),
  }
}
