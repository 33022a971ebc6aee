import { setNewest } from '#shared/process/bounded-map.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type CompanyRecord, findCompany } from '../accounts/people.ts'
import { addDays, type DateRange, type ZoneDay, zoneDayAt } from './calendar.ts'
import { EVENT_AGE_MAX_MS } from './event.ts'

const RECENT_DAYS = 30
const COMPANY_LIFETIME_MS = 60_000
const COMPANIES_CACHED_MAX = 10_000

/** A company and its current calendar days. */
export interface CompanyCalendar extends CompanyRecord {
  today: string
  /** The last day for which no call that begins now can add an event. One already under way may. */
  finalThrough: string
  /** The first and the last of the latest 30 days, which are the default range. */
  recent: DateRange
}

export type FindCompanyCalendar = (vendorId: string) => Promise<CompanyCalendar | undefined>

/** Company records are cached for a minute, and their days until they end. */
export function createCompanyCalendars({ db, clock }: { db: Database; clock: Clock }): FindCompanyCalendar {
  interface CachedCompany {
    company: CompanyRecord
    readAt_ms: number
    today: ZoneDay
    /** The oldest day that can still change, which is the current day of 72 hours ago. */
    changing: ZoneDay
    calendar: CompanyCalendar
  }
  const cache = new Map<string, CachedCompany>()

  function store(company: CompanyRecord, readAt_ms: number, now_ms: number): CachedCompany {
    const today = zoneDayAt(company.timezone, now_ms)
    const changing = zoneDayAt(company.timezone, now_ms - EVENT_AGE_MAX_MS)
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
    setNewest(cache, company.vendorId, entry, COMPANIES_CACHED_MAX)
    return entry
  }

  return async (vendorId) => {
    const now_ms = clock.now()
    const entry = cache.get(vendorId)
    if (entry && now_ms >= entry.readAt_ms && now_ms < entry.readAt_ms + COMPANY_LIFETIME_MS) {
      const isCurrent = contains(entry.today, now_ms) && contains(entry.changing, now_ms - EVENT_AGE_MAX_MS)
      return isCurrent ? entry.calendar : store(entry.company, entry.readAt_ms, now_ms).calendar
    }
    const company = await findCompany(db, vendorId)
    return company && store(company, now_ms, now_ms).calendar
  }
}

const contains = ({ start_ms, end_ms }: ZoneDay, at_ms: number): boolean =>
  at_ms >= start_ms && at_ms < end_ms
