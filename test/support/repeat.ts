import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Acts repeatedly, with a pause after each time. Returns a function that ends this: it resolves after the
 * last time, and rejects with what `act` threw.
 */
export function repeat(pause_ms: number, act: () => unknown): () => Promise<void> {
  let ended = false
  const running = (async () => {
    for (; !ended; await sleep(pause_ms)) await act()
  })()
  // The caller that ends it gets the failure. Until then it must not end the process.
  running.catch(() => {})
  return () => {
    ended = true
    return running
  }
}
