import { clockIn } from '../analytics/calendar.ts'
import { MORNING_HOUR } from '../clients/notice-expiring-clients.ts'
import { listQuietClients } from '../clients/records.ts'
import { mailManagers, type NoticeNeeds } from '../mail/outbox.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'
import { DAY_MS } from '../usage/windows.ts'

const CLIENTS_PER_PAGE = 500

/**
 * Mails about each replaced client that got no token for 7 days while its replacement is in use, once, in the
 * morning of its company. If tokens may be missing, the days count from then on.
 */
export async function noticeQuietClients(needs: NoticeNeeds): Promise<void> {
  const now = new Date(needs.clock.now())
  const quietSince = new Date(now.getTime() - 7 * DAY_MS)
  const missingBefore = await readUsesMissingBefore(needs.db)
  if (missingBefore && missingBefore > quietSince) return
  let page: Awaited<ReturnType<typeof listQuietClients>>
  let after = ''
  do {
    page = await listQuietClients(needs.db, { quietSince, now, after, limit: CLIENTS_PER_PAGE })
    const notices = page.filter(({ timezone }) => clockIn(timezone, now.getTime()).hour >= MORNING_HOUR)
    await mailManagers(needs.db, 'replaced_client_quiet', notices)
    after = page.at(-1)?.vendorId ?? ''
  } while (page.length >= CLIENTS_PER_PAGE && !needs.isEnding())
}
