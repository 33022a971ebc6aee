import { setTimeout as sleep } from 'node:timers/promises'

/** Acts repeatedly, with pauses. Returns a function that ends this and rejects with what `act` threw. */
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
