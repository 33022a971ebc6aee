import { useSyncExternalStore } from 'react'
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
      for (const each of listeners) each()
    }, TICK_MS)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }
}

/** What a function says of the time. It is called each second; the caller is drawn again when the answer changes. */
export const useTimed = <T extends string | boolean | undefined>(read: (now: Date) => T): T =>
  useSyncExternalStore(subscribe, () => read(now))

interface TimeProps {
  at: string
  /** How the text is written. */
  format?: (at: Date) => string
  by?: string
}

/** A time of the company; pointing at it shows the zone, and the browser's own time. */
export const Time = ({ at, format = dateTime, by }: TimeProps) => (
  <time dateTime={at} title={`${bothClocks(new Date(at))}${by ? `, by ${by}` : ''}`}>
    {format(new Date(at))}
  </time>
)

/** A time in a sentence: a keyboard or a finger gets its zone too. */
export const TimeInSentence = ({ at, format = dateTime }: TimeProps) => (
  <time
    dateTime={at}
    title={bothClocks(new Date(at))}
    className="focus:after:content-['_'_attr(data-zone)]"
    data-zone={zone()}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what a pointer shows, the focus does.
    tabIndex={0}
  >
    {format(new Date(at))}
  </time>
)

/** "22 Nov 2026, 03:04 (3 minutes ago)", where there is room for both. */
export const Moment = ({ at }: { at: string }) => (
  <>
    <TimeInSentence at={at} /> (<Ago at={at} />)
  </>
)

/** "3 minutes ago"; pointing at it shows the exact time, and who did it. */
export function Ago({ at, by }: { at: string; by?: string }) {
  const date = new Date(at)
  // The text, not the time: a row is drawn again when it says something else, not once a second.
  const text = useTimed((now) => relative(date, now))
  return <Time at={at} format={() => text} {...(by && { by })} />
}
