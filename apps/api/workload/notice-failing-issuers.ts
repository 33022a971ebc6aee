import { type CompanyNotice, mailManagers, type NoticeNeeds } from '../mail/outbox.ts'
import { listFailingIssuers } from './issuers.ts'

const UNREACHABLE_FOR_MS = 6 * 3_600_000
const ISSUERS_PER_PAGE = 500

/** Mails about each issuer whose keys could not be fetched for 6 hours, once until they can be. */
export async function noticeFailingIssuers(needs: NoticeNeeds): Promise<void> {
  const before = new Date(needs.clock.now() - UNREACHABLE_FOR_MS)
  let page: CompanyNotice<'issuer_keys_unreachable'>[] = []
  do {
    page = await listFailingIssuers(needs.db, { before, after: page.at(-1), limit: ISSUERS_PER_PAGE })
    await mailManagers(needs.db, 'issuer_keys_unreachable', page)
  } while (page.length === ISSUERS_PER_PAGE && !needs.isEnding())
}
