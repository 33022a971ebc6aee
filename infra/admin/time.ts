import { Option } from 'commander'
import { isDate } from '../../apps/api/analytics/calendar.ts'
import { OperatorError } from './operator.ts'

const TIME_FORMS = '2026-01-31T09:00:00Z or, as Postgres prints it, 2026-01-31 09:00:00+00'
const TIME = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}(?::?\d{2})?)$/

export const sinceOption = (description: string): Option =>
  new Option('--since <time>', `${description}: ${TIME_FORMS}`).argParser(readTime)

/**
 * Reads a time with its offset, in either form of TIME_FORMS.
 * @throws OperatorError if the text is none.
 */
export function readTime(text: string): Date {
  const [, date = '', clock, offset = ''] = TIME.exec(text) ?? []
  const [hours, minutes = '00'] = offset.match(/[+-]?\d{2}/g) ?? []
  const time = new Date(`${date}T${clock}${hours ? `${hours}:${minutes}` : 'Z'}`)
  // A Date takes 31 November for 1 December.
  if (isDate(date) && !Number.isNaN(time.getTime())) return time
  throw new OperatorError(`The time given by --since must exist and have its offset: ${TIME_FORMS}.`)
}
