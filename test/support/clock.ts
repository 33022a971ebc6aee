import { mock } from 'node:test'

export type TestClock = ReturnType<typeof createTestClock>

/** A clock that starts at the real time, unless at another, and stands still until a test moves it. */
export function createTestClock(startsAt?: string) {
  let now_ms = startsAt === undefined ? Date.now() : Date.parse(startsAt)
  return {
    now: () => now_ms,
    advance(duration_ms: number) {
      now_ms += duration_ms
    },
    set(time: string | number) {
      now_ms = new Date(time).getTime()
    },
  }
}

/** Begins what waits by `setTimeout`, lets this time pass at once, and returns what was begun. */
export function passing<T>(wait_ms: number, begin: () => T): T {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const begun = begin()
    mock.timers.tick(wait_ms)
    return begun
  } finally {
    mock.timers.reset()
  }
}

/** Stops `performance.now`, and moves it on only when told to, until the block that is `using` it ends. */
export function stoppedTime() {
  // Whole, so that what is added is exact.
  let now_ms = Math.round(performance.now())
  const { mock: time } = mock.method(performance, 'now', () => now_ms)
  return {
    advance(duration_ms: number) {
      now_ms += duration_ms
    },
    [Symbol.dispose]: () => time.restore(),
  }
}
