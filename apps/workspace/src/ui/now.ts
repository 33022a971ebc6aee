import { useSyncExternalStore } from 'react'

const TICK_MS = 1_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    timer = setInterval(() => {
      for (const listener of listeners) listener()
    }, TICK_MS)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/**
 * Calls a function of the time each second, by one timer for the whole page, and renders the caller again
 * when its value changes.
 */
export const useTimed = <T extends string | boolean | undefined>(read: (now: Date) => T): T =>
  useSyncExternalStore(subscribe, () => read(new Date()))
