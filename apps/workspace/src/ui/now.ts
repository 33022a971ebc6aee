import { useSyncExternalStore } from 'react'

const TICK_MS = 1_000
const listeners = new Set<() => void>()
let now = new Date()
let timer: ReturnType<typeof setInterval> | undefined

/** The time, once a second, from one timer for the whole page. */
export const useNow = (): Date => useSyncExternalStore(subscribe, () => now)

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) {
    now = new Date()
    timer = setInterval(() => {
      now = new Date()
      for (const listener of listeners) listener()
    }, TICK_MS)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/** Calls a function of the time each second, and renders the caller again when its value changes. */
export const useTimed = <T extends string | boolean | undefined>(read: (now: Date) => T): T =>
  useSyncExternalStore(subscribe, () => read(now))
