import type { Goal } from './goals.ts'
import type { Measured } from './measure.ts'
import type { Business } from './quiet.ts'
import type { Servers } from './servers.ts'
import type { Spread } from './statistics.ts'
import type { World } from './world.ts'

/** `speed` is measured when nothing else is asked for. */
export type Part = 'speed' | 'growth' | 'memory'

/** What is measured together. It prepares all that it needs itself, so that it can be measured alone. */
export interface Row {
  name: string
  part: Part
  /** @throws Error when something was refused or failed that should not have been: that must never pass for speed. */
  measure(bench: Bench): Promise<Measurement>
}

/** What a row measures with. */
export interface Bench {
  rounds: number
  servers: Servers
  /** Starts the stores and services on its first call. */
  world(): Promise<World>
  /** Shown while the row is being measured. */
  progress(text: string): void
  /** Notes how busy others kept the server's core meanwhile. */
  measuredWhile(business: Business): void
}

export interface Measurement {
  findings: Finding[]
  /** What the servers did, to look behind the findings. */
  loads: Measured[]
}

export type Unit = 'ratio' | 'ms' | 's' | 'MiB'

/** One line of the table. */
export interface Finding {
  what: string
  beside?: string
  value: Spread
  unit: Unit
  goal: Goal
  /** The same ratio by requests per CPU second of the servers. */
  perCpuSecond?: Spread
}

/** What a goal is judged by: CPU where it is known, since it says the most on a busy machine too. */
export const judged = ({ value, perCpuSecond = value }: Finding): number => perCpuSecond.median
