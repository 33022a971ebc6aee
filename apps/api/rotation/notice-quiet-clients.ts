import { readTimezones } from '../accounts/people.ts'
import { clockIn } from '../analytics/calendar.ts'
import { MORNING_HOUR } from '../clients/notice-expiring-clients.ts'
import { listQuietReplaced } from '../clients/records.ts'
import { mailNotices, type NoticeNeeds } from '../mail/outbox.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'

const QUIET_FOR_MS = 7 * 24 * 3_600_000
/** The latest ones: about earlier ones, mails were written before. */
const CLIENTS_MAX = 1_000

/**
 * Mails about each replaced client that got no token for 7 days while its replacement is in use, once, in the
 * morning of its company. If uses may be missing, the days count from then on.
 */
export async function noticeQuietClients(needs: NoticeNeeds): Promise<void> {
  const { db, clock } = needs
  const now_ms = clock.now()
  const quietSince = new Date(now_ms - QUIET_FOR_MS)
  const missingBefore = await readUsesMissingBefore(db)
  if (missingBefore && missingBefore > quietSince) return
  const pairs = await listQuietReplaced(db, { quietSince, now: new Date(now_ms), limit: CLIENTS_MAX })
  const timezones = await readTimezones(db, [...new Set(pairs.map(({ vendorId }) => vendorId))])
  const notices = pairs.flatMap((pair) => {
    const timezone = timezones.get(pair.vendorId)
    if (timezone === undefined || clockIn(timezone, now_ms).hour < MORNING_HOUR) return []
    const { vendorId, clientId, name, newClientId, newName, longestQuiet_s } = pair
    const detail = {
      client: { clientId, name, lastTokenAt: pair.lastUsedAt.toISOString() },
      replacement: { clientId: newClientId, name: newName, lastTokenAt: pair.newLastUsedAt.toISOString() },
      longestQuietHours: longestQuiet_s === null ? null : longestQuiet_s / 3_600,
      seenSince: pair.createdAt.toISOString(),
    }
    return { vendorId, topic: `${clientId} ${newClientId}`, detail }
  })
  await mailNotices(needs, 'replaced_client_quiet', notices)
}
