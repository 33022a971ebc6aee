import { readTimezones } from '../accounts/people.ts'
import { clockIn, daysBetween } from '../analytics/calendar.ts'
import { mailNotices, type NoticeNeeds } from '../mail/outbox.ts'
import { type ExpiringClient, listExpiringClients } from './records.ts'

const DAYS_BEFORE = [1, 7, 30]
/** Mails about a day are written from this hour of it. */
export const MORNING_HOUR = 8
const DAY_MS = 24 * 3_600_000
/** The clocks may change by as much between a morning and a day that is counted from it. */
const CLOCK_CHANGE_MS = 3 * 3_600_000
const CLIENTS_PER_QUERY = 500

/** Mails the clients of each company that expire in 30, 7 or 1 days of its calendar, in its morning. */
export async function noticeExpiringClients(needs: NoticeNeeds): Promise<void> {
  const now_ms = needs.clock.now()
  const windows = DAYS_BEFORE.map((days): [Date, Date] => [
    new Date(now_ms + Math.max(0, (days - 1) * DAY_MS - CLOCK_CHANGE_MS)),
    new Date(now_ms + (days + 1) * DAY_MS),
  ])
  let clients: ExpiringClient[]
  let after = ''
  do {
    clients = await listExpiringClients(needs.db, { windows, after, limit: CLIENTS_PER_QUERY })
    const companies = Map.groupBy(clients, ({ vendorId }) => vendorId)
    const timezones = await readTimezones(needs.db, [...companies.keys()])
    const notices = [...timezones].flatMap(([vendorId, timezone]) => {
      const { date, hour } = clockIn(timezone, now_ms)
      const expiring = (companies.get(vendorId) ?? [])
        .filter(({ expiresAt }) =>
          DAYS_BEFORE.includes(daysBetween(date, clockIn(timezone, expiresAt.getTime()).date)),
        )
        .sort((a, b) => a.expiresAt.getTime() - b.expiresAt.getTime())
        .map(({ clientId, name, expiresAt }) => ({ clientId, name, expiresAt: expiresAt.toISOString() }))
      if (hour < MORNING_HOUR || expiring.length === 0) return []
      return { vendorId, topic: `${vendorId} ${date}`, detail: { clients: expiring } }
    })
    await mailNotices(needs, 'clients_expire', notices)
    after = clients.at(-1)?.vendorId ?? ''
  } while (clients.length >= CLIENTS_PER_QUERY && !needs.isEnding())
}
