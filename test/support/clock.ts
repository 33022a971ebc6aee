export type TestClock = ReturnType<typeof createTestClock>

/** A clock that starts at the real time and stands still until a test moves it. */
export function createTestClock() {
  let now_ms = Date.now()
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
