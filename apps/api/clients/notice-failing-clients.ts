import type { RedisOrCluster } from '#shared/stores/redis.ts'
import { clockIn } from '../analytics/calendar.ts'
import { type CompanyNotice, mailManagers, type NoticeNeeds } from '../mail/outbox.ts'
import { type Failing, readFailing, SUCCESS_POSSIBLE_MS } from '../usage/failing.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'
import { DAY_MS, HOUR_MS } from '../usage/windows.ts'
import { listSuspectedClients, type SuspectedClient } from './records.ts'

const FAILING_FOR_MS = HOUR_MS / 2
/** Longer than that, in case Redis was away. */
const REFUSED_WITHIN_MS = 6 * HOUR_MS
const CLIENTS_PER_PAGE = 500

/**
 * Mails about each client that got tokens in the last 7 days and has only been refused for 30 minutes, at
 * most once a day. Companies whose Redis server does not answer wait for another round.
 */
export async function noticeFailingClients(needs: NoticeNeeds & { redis: RedisOrCluster }): Promise<void> {
  const { db, clock, isEnding } = needs
  const now_ms = clock.now()
  const missingBefore_ms = (await readUsesMissingBefore(db))?.getTime() ?? 0
  const refusedSince = new Date(now_ms - REFUSED_WITHIN_MS)
  const lastUsed: [Date, Date] = [
    new Date(now_ms - 7 * DAY_MS),
    new Date(now_ms - SUCCESS_POSSIBLE_MS - FAILING_FOR_MS),
  ]
  let page: SuspectedClient[]
  let after = ''
  do {
    page = await listSuspectedClients(db, { refusedSince, lastUsed, after, limit: CLIENTS_PER_PAGE })
    for (const [vendorId, clients] of Map.groupBy(page, (client) => client.vendorId)) {
      const summaries = new Map(clients.map((client) => [client.clientId, client]))
      const failing = await readFailing(needs, vendorId, clients, summaries)
      if (isEnding()) return
      const notices = clients.flatMap((client) =>
        writeNotice(client, failing?.get(client.clientId), { now_ms, missingBefore_ms }),
      )
      await mailManagers(needs.db, 'client_failing', notices)
    }
    after = page.at(-1)?.vendorId ?? ''
  } while (page.length >= CLIENTS_PER_PAGE)
}

/**
 * Returns no notice unless the client has been failing for long enough. Where anyone may have sent what was
 * refused, it must also have been without a token for longer than ever before.
 */
function writeNotice(
  { clientId, name, vendorId, timezone, lastUsedAt, longestQuiet_s }: SuspectedClient,
  failing: Failing | undefined,
  { now_ms, missingBefore_ms }: { now_ms: number; missingBefore_ms: number },
): CompanyNotice<'client_failing'>[] {
  if (!failing) return []
  const { cause, senderKnown } = failing
  // It may have got a token until then that was not counted.
  const since_ms = Math.max(Date.parse(failing.since), missingBefore_ms)
  const quiet_s = (now_ms - Math.max(lastUsedAt.getTime(), missingBefore_ms)) / 1_000
  const isOverdue = longestQuiet_s !== null && quiet_s > longestQuiet_s
  if (now_ms - since_ms < FAILING_FOR_MS || !(senderKnown || isOverdue)) return []
  const [since, lastTokenAt] = [new Date(since_ms).toISOString(), lastUsedAt.toISOString()]
  const detail = { client: { clientId, name }, since, cause, senderKnown, lastTokenAt }
  return [{ vendorId, topic: `${clientId} ${clockIn(timezone, now_ms).date}`, detail }]
}
