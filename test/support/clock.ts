import type { Clock } from '#shared/process/clock.ts'

export interface TestClock extends Clock {
  advance(duration_ms: number): void
  set(time: string | number): void
}

/** A clock that stands still until it is told to move. It begins at the real time. */
export function createTestClock(): TestClock {
  let now_ms = Date.now()
  return {
    now: () => now_ms,
    advance(duration_ms) {
      now_ms += duration_ms
    },
    set(time) {
      now_ms = new Date(time).getTime()
    },
  }
}
