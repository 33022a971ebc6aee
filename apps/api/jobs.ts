import type { Log } from '#shared/process/log.ts'

/** What a process does beside the requests. It may run in every process at once. */
export interface Job {
  every_ms: number
  /** Also when it is started: a process may not live as long as the interval. */
  atOnce?: boolean
  /**
   * What is done in each round, one after the other, by its name in the log. One that fails stops no other.
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
  { every_ms, atOnce, steps }: Job,
  { log, isEnding }: { log: Log; isEnding: () => boolean },
): () => Promise<void> {
  let round: Promise<void> | undefined

  async function runRound(): Promise<void> {
    for (const [what, step] of Object.entries(steps)) {
      if (isEnding()) break
      await step(isEnding).catch((error: Error) =>
        log.warn({ event: 'housekeeping.failed', what, error: error.message }, 'housekeeping failed'),
      )
    }
    round = undefined
  }

  // Never queued: a slow round must not delay the end of the process by every round that it missed.
  const start = () => {
    round ??= runRound()
  }
  if (atOnce) start()
  const timer = setInterval(start, every_ms)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}
