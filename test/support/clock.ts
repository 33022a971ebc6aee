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
