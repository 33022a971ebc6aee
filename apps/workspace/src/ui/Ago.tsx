import { type ReactNode, useSyncExternalStore } from 'react'
import { useClock } from '../api/company.ts'
import { bothClocks } from '../api/time.ts'

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

interface TimeProps {
  at: string
  format?: 'dateTime' | 'precise' | 'day' | 'time' | 'timeOfDay' | 'weekdayTime' | 'onDay'
  by?: string
  /** In place of the time in a format. */
  children?: ReactNode
}

/** A time in the company's zone, which the account menu names. Pointing at it shows the browser's too. */
export function Time({ at, format = 'dateTime', by, children }: TimeProps) {
  const clock = useClock()
  const date = new Date(at)
  return (
    <time dateTime={at} title={`${bothClocks(date, clock)}${by ? `, by ${by}` : ''}`}>
      {children ?? clock[format](date)}
    </time>
  )
}

/** "22 Nov 2026, 03:04 (3 minutes ago)", in a sentence that has room for both. */
export const Moment = ({ at, format }: Pick<TimeProps, 'at' | 'format'>) => (
  <>
    <Time at={at} {...(format && { format })} /> (<Ago at={at} />)
  </>
)

/** "3 minutes ago". Pointing at it shows the exact time, and who did it. */
export function Ago(props: Pick<TimeProps, 'at' | 'by'>) {
  const { relative } = useClock()
  const date = new Date(props.at)
  // The text, not the time: a row is drawn again when it says something else, not once a second.
  const text = useTimed((now) => relative(date, now))
  return <Time {...props}>{text}</Time>
}
