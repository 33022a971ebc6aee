import { Temporal } from 'temporal-polyfill'

/** Returns when a day begins. In a file of its own, since only a few screens need Temporal. */
export const midnight = (date: string, zone: string): Date =>
  new Date(Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds)
