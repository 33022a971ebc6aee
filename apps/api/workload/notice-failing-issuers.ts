import type { NoticeNeeds } from '../mail/outbox.ts'
import { mailNotices } from '../mail/outbox.ts'
import { type FailingIssuer, listFailingIssuers } from './issuers.ts'

const UNREACHABLE_FOR_MS = 6 * 3_600_000
const ISSUERS_PER_QUERY = 500

/** Mails about each issuer whose keys could not be fetched for 6 hours, once until they can be. */
export async function noticeFailingIssuers(needs: NoticeNeeds): Promise<void> {
  const before = new Date(needs.clock.now() - UNREACHABLE_FOR_MS)
  let issuers: FailingIssuer[]
  let after: [string, string] = ['', '']
  do {
    issuers = await listFailingIssuers(needs.db, { before, after, limit: ISSUERS_PER_QUERY })
    await mailNotices(
      needs,
      'issuer_keys_unreachable',
      issuers.map(({ vendorId, issuer, keysAsOf, clients }) => {
        const since = keysAsOf.toISOString()
        return { vendorId, topic: `${vendorId} ${issuer} ${since}`, detail: { issuer, since, clients } }
      }),
    )
    const last = issuers.at(-1)
    if (last) after = [last.vendorId, last.issuer]
  } while (issuers.length === ISSUERS_PER_QUERY && !needs.isEnding())
}
