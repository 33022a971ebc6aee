import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Log } from './log.ts'

const LAG_MAX_MS = 200
const RESOLUTION_MS = 20
const LOOK_EVERY_MS = 1_000

export interface LoopLag {
  /** Notes that a request of this route has run. `route`: one of a bounded set, never what a caller sent. */
  ran(route: string): void
  stop(): void
}

/** Measures how long the event loop is held up. Over 200 ms, one warning per second names the routes that ran. */
export function watchLoopLag(log: Log, lagMax_ms = LAG_MAX_MS): LoopLag {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  let before = new Set<string>()
  let now = new Set<string>()

  const timer = setInterval(() => {
    // Measured is the time between two samples, not how late the second was.
    const lag_ms = Math.round(delays.max / 1e6) - RESOLUTION_MS
    delays.reset()
    if (lag_ms > lagMax_ms)
      log.warn({ lag_ms, routes: [...new Set([...before, ...now])] }, 'the event loop was held up')
    before = now
    now = new Set()
  }, LOOK_EVERY_MS)
  timer.unref()

  return {
    ran: (route) => void now.add(route),
    stop() {
      clearInterval(timer)
      delays.disable()
    },
  }
}
