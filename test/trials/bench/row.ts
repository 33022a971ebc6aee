import type { Spread } from './statistics.ts'
import type { BenchServers } from './world.ts'

/** What is measured together. It prepares all that it needs, so that it can be measured alone. */
export interface Row {
  name: string
  /** Takes 10 minutes, and is measured only when its name is given. */
  isLong?: true
  /** @throws Error if something was refused or failed unexpectedly: that must never pass for speed. */
  measure(bench: Bench): Promise<Finding[]>
}

/** What a row measures with. */
export interface Bench extends BenchServers {
  /** Shown while the row is being measured. */
  progress(text: string): void
}

/** One line of the table. */
export interface Finding {
  what: string
  beside?: string
  value: Spread
  unit: 'ratio' | 's' | 'MiB'
  goal: { least: number } | { most: number }
}
