import type { ComponentProps } from 'react'
import { day, isDay, midnight } from '../api/time.ts'

/** A date field that reads as dates do elsewhere. While it has the focus, the browser shows its own form of the date. */
export const DayInput = ({ value, ...input }: ComponentProps<'input'> & { value: string }) => (
  <span className="day-input" data-day={isDay(value) ? day(midnight(value)) : 'Choose a day'}>
    <input {...input} className="input" type="date" value={value} />
  </span>
)
