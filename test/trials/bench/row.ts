import type { Goal } from './goals.ts'
import type { Business } from './quiet.ts'
import type { Spread } from './statistics.ts'
import type { BenchServers } from './world.ts'

/** What is measured together. It prepares all that it needs, so that it can be measured alone. */
export interface Row {
  name: string
  /** Measured in place of the speed when it is asked for. */
  part?: 'memory'
  /** @throws Error if something was refused or failed unexpectedly: that must never pass for speed. */
  measure(bench: Bench): Promise<Finding[]>
}

/** What a row measures with. */
export interface Bench extends BenchServers {
  rounds: number
  /** Shown while the row is being measured. */
  progress(text: string): void
  /** Collects how busy others kept the server's core meanwhile. */
  business: Business[]
}

/** What a row found. */
export interface RowResult {
  findings: Finding[]
  /** Empty where nothing was measured in rounds. */
  business: Business[]
}

/** One line of the table. */
export interface Finding {
  what: string
  beside?: string
  value: Spread
  unit: 'ratio' | 's' | 'MiB'
  goal: Goal
  /** The same ratio by requests per CPU second of the servers. The goal is judged by it where it is known. */
  perCpuSecond?: Spread
}
