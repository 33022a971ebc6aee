import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type Company, findCompany } from '../accounts/people.ts'
import { addDays, type ZoneDay, zoneDayAt } from './calendar.ts'
import { LATE_EVENTS_MS } from './days.ts'

const RECENT_DAYS = 30
const REMEMBERED_MS = 60_000
const COMPANIES_REMEMBERED = 10_000

/** First and last date, both included. */
export interface DateRange {
  from: string
  to: string
}

/** A company and its current calendar days. */
export interface CompanyCalendar extends CompanyRecord {
  today: string
  /** The last day that can no longer change. */
  finalThrough: string
  /** The first and the last of the latest 30 days, which are the default range. */
  recent: DateRange
}

export type FindCompanyCalendar = (vendorId: string) => Promise<CompanyCalendar | undefined>

/** Company records are cached for a minute, and their days until they end. */
export function createCompanyCalendars({ db, clock }: { db: Database; clock: Clock }): FindCompanyCalendar {
  interface Remembered {
    company: CompanyRecord
    readAt_ms: number
    today: ZoneDay
    /** The oldest day that can still change, which is the current day of 72 hours ago. */
    changing: ZoneDay
    calendar: CompanyCalendar
  }
  const remembered = new Map<string, Remembered>()

  function remember(company: Company, readAt_ms: number, now_ms: number): Remembered {
    const today = zoneDayAt(company.timezone, now_ms)
    const changing = zoneDayAt(company.timezone, now_ms - LATE_EVENTS_MS)
    const finalThrough = zoneDayAt(company.timezone, changing.start_ms - 1).date
    const entry = {
      company,
      readAt_ms,
      today,
      changing,
      calendar: {
        ...company,
        today: today.date,
        finalThrough,
        recent: { from: addDays(today.date, 1 - RECENT_DAYS), to: today.date },
      },
    }
    setNewest(remembered, company.vendorId, entry, COMPANIES_REMEMBERED)
    return entry
  }

  return async (vendorId) => {
    const now_ms = clock.now()
    const known = remembered.get(vendorId)
    if (known && now_ms >= known.readAt_ms && now_ms < known.readAt_ms + REMEMBERED_MS) {
      const inside = contains(known.today, now_ms) && contains(known.changing, now_ms - LATE_EVENTS_MS)
      return inside ? known.calendar : remember(known.company, known.readAt_ms, now_ms).calendar
    }
    const company = await findCompany(db, vendorId)
    return company && remember(company, now_ms, now_ms).calendar
  }
}

const contains = ({ start_ms, end_ms }: ZoneDay, at_ms: number): boolean =>
  at_ms >= start_ms && at_ms < end_ms
