import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Acts again and again, with a pause after each time. Returns a function that ends this; it resolves after
 * the last time, and rejects with what `act` threw.
 */
export function repeat(pause_ms: number, act: () => unknown): () => Promise<void> {
  let ended = false
  const running = (async () => {
    for (; !ended; await sleep(pause_ms)) await act()
  })()
  // Whoever ends it hears of a failure, not the process before.
  running.catch(() => {})
  return () => {
    ended = true
    return running
  }
}
