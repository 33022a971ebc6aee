import type { ReactNode } from 'react'
import { useClock } from '../api/company.ts'
import { bothClocks } from '../api/time.ts'

export interface TimeProps {
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
