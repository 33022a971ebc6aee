import type { Log } from '#shared/process/log.ts'

/** How many different failures of a step are logged. */
const REASONS_MAX = 3

/** Work besides the requests. It may run in every process at the same time. */
export interface Job {
  every_ms: number
  /** Whether it also runs at the start, since a process may not live as long as the interval. */
  runAtStart?: boolean
  /**
   * The steps of each round, in order, by their names in the log. A failing step stops no other. One that
   * goes on after a failure throws an AggregateError of all at its end.
   */
  steps: Record<string, (isEnding: () => boolean) => Promise<unknown>>
}

/**
 * Runs jobs until stopped. A failure is logged, and the step is tried again in the next round.
 * Returns a function that stops them, and resolves once the work in progress is done.
 */
export function startJobs(jobs: readonly Job[], log: Log): () => Promise<void> {
  let ending = false
  const isEnding = () => ending
  const stops = jobs.map((job) => startJob(job, { log, isEnding }))
  return async () => {
    ending = true
    await Promise.all(stops.map((stop) => stop()))
  }
}

function startJob(
  { every_ms, runAtStart, steps }: Job,
  { log, isEnding }: { log: Log; isEnding: () => boolean },
): () => Promise<void> {
  let round: Promise<void> | undefined

  async function runRound(): Promise<void> {
    for (const [what, step] of Object.entries(steps)) {
      if (isEnding()) break
      try {
        await step(isEnding)
      } catch (error) {
        const failures: Error[] = error instanceof AggregateError ? error.errors : [error]
        const reasons = new Set(failures.map(({ message }) => message))
        const described = { error: [...reasons].slice(0, REASONS_MAX).join('; '), failures: failures.length }
        log.warn({ event: 'housekeeping.failed', what, ...described }, 'housekeeping failed')
      }
    }
  }

  // Never queued: a slow round must not delay the end of the process by every round that it missed.
  const start = () => {
    round ??= runRound().finally(() => {
      round = undefined
    })
  }
  if (runAtStart) start()
  const timer = setInterval(start, every_ms)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}
