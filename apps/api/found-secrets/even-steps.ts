export interface StepTiming {
  step_ms: number
  /** Milliseconds that only ever go forward. */
  monotonic(): number
  sleep(duration_ms: number): Promise<unknown>
}

/**
 * Runs `work`, and settles as it does, but only at a whole number of steps after the call. How long the work took shows
 * only if it took longer than a step, and then to the step.
 */
export async function atEvenSteps<T>(
  work: () => Promise<T>,
  { step_ms, monotonic, sleep }: StepTiming,
): Promise<T> {
  const began_ms = monotonic()
  try {
    return await work()
  } finally {
    await sleep(step_ms - ((monotonic() - began_ms) % step_ms))
  }
}
