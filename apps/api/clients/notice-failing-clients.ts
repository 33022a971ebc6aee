import type { RedisOrCluster } from '#shared/stores/redis.ts'
import { readTimezones } from '../accounts/people.ts'
import { clockIn } from '../analytics/calendar.ts'
import { mailNotices, type Notice, type NoticeNeeds } from '../mail/outbox.ts'
import { type Failing, listSuspects, readFailing, type Suspect } from '../usage/failing.ts'
import { readUsesMissingBefore } from '../usage/missing-uses.ts'
import { findActiveClients } from './records.ts'

const FAILING_FOR_MS = 30 * 60_000
const SUSPECTS_PER_QUERY = 500

/**
 * Mails about each client that got tokens in the last 7 days and has only been refused for 30 minutes, at
 * most once a day. While Redis does not answer, nothing is written.
 */
export async function noticeFailingClients(needs: NoticeNeeds & { redis: RedisOrCluster }): Promise<void> {
  const { db, clock } = needs
  const missingBefore = await readUsesMissingBefore(db)
  let page: Suspect[]
  let after = ''
  do {
    const now_ms = clock.now()
    page = await listSuspects(db, { now_ms, for_ms: FAILING_FOR_MS, after, limit: SUSPECTS_PER_QUERY })
    const suspects = new Map(page.map((suspect) => [suspect.clientId, suspect]))
    const companies = Map.groupBy(
      await findActiveClients(db, [...suspects.keys()]),
      (client) => client.vendorId,
    )
    const timezones = await readTimezones(db, [...companies.keys()])
    for (const [vendorId, timezone] of timezones) {
      if (needs.isEnding()) return
      const clients = companies.get(vendorId) ?? []
      const failing = await readFailing(needs, vendorId, clients, suspects)
      if (!failing) return
      const notices = clients.flatMap(({ clientId, name }): Notice<'client_failing'>[] => {
        const detail = findTrouble(suspects.get(clientId), failing.get(clientId), { now_ms, missingBefore })
        const topic = `${clientId} ${clockIn(timezone, now_ms).date}`
        return detail ? [{ vendorId, topic, detail: { client: { clientId, name }, ...detail } }] : []
      })
      await mailNotices(needs, 'client_failing', notices)
    }
    after = page.at(-1)?.clientId ?? ''
  } while (page.length === SUSPECTS_PER_QUERY)
}

/**
 * Returns undefined unless the client has been failing for long enough. Where anyone may have sent what was
 * refused, it must also have been without a token for longer than ever before.
 */
function findTrouble(
  suspect: Suspect | undefined,
  failing: Failing | undefined,
  { now_ms, missingBefore }: { now_ms: number; missingBefore: Date | undefined },
) {
  if (!suspect || !failing) return undefined
  const { lastUsedAt, longestQuiet_s } = suspect
  const { cause, senderKnown } = failing
  // It may have got a token until then that was not counted.
  const since_ms = Math.max(Date.parse(failing.since), missingBefore?.getTime() ?? 0)
  const quiet_ms = now_ms - Math.max(lastUsedAt.getTime(), missingBefore?.getTime() ?? 0)
  const isOverdue = longestQuiet_s !== null && quiet_ms > longestQuiet_s * 1_000
  if (now_ms - since_ms < FAILING_FOR_MS || !(senderKnown || isOverdue)) return undefined
  const since = new Date(since_ms).toISOString()
  return { since, cause, senderKnown, lastTokenAt: lastUsedAt.toISOString() }
}
