import { useState, useSyncExternalStore } from 'react'
import { bothClocks, dateTime, relative, zone } from '../api/time.ts'

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
  /** How the text is written. */
  format?: (at: Date) => string
  by?: string
  /** In a sentence, unlike in a table, a keyboard or a finger gets the zone too. */
  inSentence?: boolean
}

/** A time in the company's zone. Pointing at it shows the zone, and the browser's own time. */
export function Time({ at, format = dateTime, by, inSentence = false }: TimeProps) {
  const [focused, setFocused] = useState(false)
  return (
    <time
      dateTime={at}
      title={`${bothClocks(new Date(at))}${by ? `, by ${by}` : ''}`}
      {...(inSentence && { tabIndex: 0, onFocus: () => setFocused(true), onBlur: () => setFocused(false) })}
    >
      {format(new Date(at))}
      {focused && ` ${zone()}`}
    </time>
  )
}

/** "22 Nov 2026, 03:04 (3 minutes ago)", in a sentence that has room for both. */
export const Moment = ({ at, format }: Pick<TimeProps, 'at' | 'format'>) => (
  <>
    <Time at={at} {...(format && { format })} inSentence /> (<Ago at={at} />)
  </>
)

/** "3 minutes ago". Pointing at it shows the exact time, and who did it. */
export function Ago(props: Omit<TimeProps, 'format'>) {
  const date = new Date(props.at)
  // The text, not the time: a row is drawn again when it says something else, not once a second.
  const text = useTimed((now) => relative(date, now))
  return <Time {...props} format={() => text} />
}
