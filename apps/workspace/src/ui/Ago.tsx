import { useSyncExternalStore } from 'react'
import { dateTime, relative } from './time.ts'

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
      for (const each of listeners) each()
    }, TICK_MS)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/** "3 minutes ago", with the exact time for whoever asks. */
export function Ago({ at }: { at: string }) {
  const date = new Date(at)
  const current = useNow()
  return (
    <time dateTime={at} title={dateTime(date)}>
      {relative(date, current)}
    </time>
  )
}
