import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { findMember, type Role } from '../accounts/people.ts'
import type { FairQueue } from '../http/fair-queue.ts'
import type { Access } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { type SessionNeeds, signedIn } from '../sessions/access.ts'
import type { SessionState } from '../sessions/sessions.ts'

/** A person who may act for the company of the path. */
export interface Manager {
  session: SessionState
  vendorId: string
}

interface ManagerNeeds extends SessionNeeds {
  /** People of a company take turns. */
  companyTurns: FairQueue
}

/**
 * Admits only active people of the path's company with one of these roles. Role and status are read on every request.
 * Everyone else gets the same 403, whether or not the company exists.
 * @param who they are, for the 403.
 */
const managers = (roles: readonly Role[], who: string): Access<Manager, ManagerNeeds> => ({
  ...signedIn,
  async admit(ctx, needs) {
    const { session } = await signedIn.admit(ctx, needs)
    const vendorId = ctx.params.vendorId ?? ''
    const known = VENDOR_ID_PATTERN.test(vendorId)
    const member = known ? await findMember(needs.db, { vendorId, userId: session.userId }) : undefined
    if (member?.status !== 'active' || !roles.includes(member.role))
      throw new Problem('forbidden', `Only ${who} of this company may do this.`)
    ctx.state.vendorId = vendorId
    return { session, vendorId }
  },
  turn:
    ({ vendorId }, { companyTurns }) =>
    (handle) =>
      companyTurns(vendorId, handle),
  problems: [...signedIn.problems, 'forbidden'],
})

/** Counts each request for the company. */
const counted = (
  access: Access<Manager, ManagerNeeds>,
): Access<Manager, ManagerNeeds & { changesPerCompany: RateLimit }> => ({
  ...access,
  async admit(ctx, needs) {
    const manager = await access.admit(ctx, needs)
    const rate = await needs.changesPerCompany.consume(manager.vendorId)
    ctx.set(rateLimitHeaders(rate))
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many changes in this company.')
    return manager
  },
})

export const canRead = managers(['owner', 'admin'], 'the owner and active admins')
/** As canRead, for what changes something. */
export const canWrite = counted(canRead)
/** The owner alone, for what changes something. */
export const ownerOnly = counted(managers(['owner'], 'the owner'))
