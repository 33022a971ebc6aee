import { addDays, clockIn, daysBetween } from '../analytics/calendar.ts'
import { type CompanyNotice, mailManagers, type NoticeNeeds } from '../mail/outbox.ts'
import { DAY_MS, HOUR_MS } from '../usage/windows.ts'
import { type ExpiringClient, listExpiringClients } from './records.ts'

const DAYS_BEFORE = [1, 7, 30]
/** Days on which no process may have run. */
const LATE_DAYS = 2
/** The hour from which mails are written that can wait for the morning. */
export const MORNING_HOUR = 8
/** By how much clocks may change before the last of those days, and to spare. */
const CLOCK_CHANGE_MS = 3 * HOUR_MS
const CLIENTS_PER_PAGE = 500

/**
 * Mails the clients of each company that expire in 30, 7 or 1 days of its calendar, in its morning. What was
 * due in the last two days and not mailed then follows, in a mail for each of them.
 */
export async function noticeExpiringClients(needs: NoticeNeeds): Promise<void> {
  const now_ms = needs.clock.now()
  const windows = DAYS_BEFORE.map((days): [Date, Date] => [
    new Date(now_ms + Math.max(0, (days - 1 - LATE_DAYS) * DAY_MS - CLOCK_CHANGE_MS)),
    new Date(now_ms + (days + 1) * DAY_MS),
  ])
  let page: ExpiringClient[]
  let after = ''
  do {
    page = await listExpiringClients(needs.db, { windows, after, limit: CLIENTS_PER_PAGE })
    const notices = new Map<string, CompanyNotice<'clients_expire'>>()
    for (const client of page.toSorted((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())) {
      const { clientId, name, vendorId, expiresAt } = client
      const morning = findMorning(client, now_ms)
      if (!morning) continue
      const topic = `${vendorId} ${morning}`
      const notice = notices.get(topic) ?? { vendorId, topic, detail: { clients: [] } }
      notice.detail.clients.push({ clientId, name, expiresAt: expiresAt.toISOString() })
      notices.set(topic, notice)
    }
    await mailManagers(needs.db, 'clients_expire', [...notices.values()])
    after = page.at(-1)?.vendorId ?? ''
  } while (page.length >= CLIENTS_PER_PAGE && !needs.isEnding())
}

/** Returns the date of the morning whose mail names a client: today's, or one of the days before. */
function findMorning({ timezone, createdAt, expiresAt }: ExpiringClient, now_ms: number): string | undefined {
  const { date, hour } = clockIn(timezone, now_ms)
  const lastDate = clockIn(timezone, expiresAt.getTime()).date
  const days = daysBetween(date, lastDate)
  const before = DAYS_BEFORE.find((stage) => days <= stage && days >= stage - LATE_DAYS)
  if (hour < MORNING_HOUR || before === undefined) return undefined
  const morning = addDays(lastDate, -before)
  return clockIn(timezone, createdAt.getTime()).date <= morning ? morning : undefined
}
