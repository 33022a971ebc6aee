import { clockIn, daysBetween } from '../analytics/calendar.ts'
import { mailNotices, type NoticeNeeds } from '../mail/outbox.ts'
import { DAY_MS, HOUR_MS } from '../usage/windows.ts'
import { type ExpiringClient, listExpiringClients } from './records.ts'

const DAYS_BEFORE = [1, 7, 30]
/** The hour from which mails are written that can wait for the morning. */
export const MORNING_HOUR = 8
/** By how much clocks may change before the last of those days, and to spare. */
const CLOCK_CHANGE_MS = 3 * HOUR_MS
const CLIENTS_PER_PAGE = 500

/** Mails the clients of each company that expire in 30, 7 or 1 days of its calendar, in its morning. */
export async function noticeExpiringClients(needs: NoticeNeeds): Promise<void> {
  const now_ms = needs.clock.now()
  const windows = DAYS_BEFORE.map((days): [Date, Date] => [
    new Date(now_ms + Math.max(0, (days - 1) * DAY_MS - CLOCK_CHANGE_MS)),
    new Date(now_ms + (days + 1) * DAY_MS),
  ])
  let page: ExpiringClient[]
  let after = ''
  do {
    page = await listExpiringClients(needs.db, { windows, after, limit: CLIENTS_PER_PAGE })
    const due = page.flatMap(({ clientId, name, vendorId, timezone, expiresAt }) => {
      const { date, hour } = clockIn(timezone, now_ms)
      const days = daysBetween(date, clockIn(timezone, expiresAt.getTime()).date)
      if (hour < MORNING_HOUR || !DAYS_BEFORE.includes(days)) return []
      return { topic: `${vendorId} ${date}`, vendorId, clientId, name, expiresAt: expiresAt.toISOString() }
    })
    due.sort((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1))
    const mornings = Map.groupBy(due, ({ vendorId }) => vendorId)
    const notices = [...mornings].map(([vendorId, clients]) => ({
      vendorId,
      topic: clients[0]?.topic ?? '',
      detail: { clients: clients.map(({ clientId, name, expiresAt }) => ({ clientId, name, expiresAt })) },
    }))
    await mailNotices(needs, 'clients_expire', notices)
    after = page.at(-1)?.vendorId ?? ''
  } while (page.length >= CLIENTS_PER_PAGE && !needs.isEnding())
}
