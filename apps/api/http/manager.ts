import { findMember, type Role } from '#shared/accounts/people.ts'
import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems/problems.ts'
import type { FairQueue } from '#shared/process/fair-queue.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { Access } from './route.ts'
import type { SessionState } from './state.ts'

/** A person who may act for the company of the path. */
export interface Manager {
  session: SessionState
  vendorId: string
}

/**
 * Allows only the owner and the active admins of the path's company, or only the roles in `roles`. Role and status are
 * read on every request. Everyone else gets the same 403, whether or not the company exists. Companies take turns.
 * @param options.changes counts each request for the company, one that changes something.
 */
export function createManagerAccess(
  { session, db, queue }: { session: Access<{ session: SessionState }>; db: Database; queue: FairQueue },
  { roles = ['owner', 'admin'], changes }: { roles?: readonly Role[]; changes?: RateLimit } = {},
): Access<Manager> {
  const who = roles.includes('admin') ? 'the owner and active admins' : 'the owner'
  async function mayAct(vendorId: string, userId: string): Promise<boolean> {
    if (!VENDOR_ID_PATTERN.test(vendorId)) return false
    const membership = await findMember(db, { vendorId, userId })
    return membership?.status === 'active' && roles.includes(membership.role)
  }
  return {
    ...session,
    async admit(ctx) {
      const admitted = await session.admit(ctx)
      const vendorId = ctx.params.vendorId ?? ''
      if (!(await mayAct(vendorId, admitted.session.userId))) {
        throw new Problem('forbidden', `Only ${who} of this company may do this.`)
      }
      ctx.state.vendorId = vendorId
      if (changes) {
        const rate = await changes.consume(vendorId)
        ctx.set(rateLimitHeaders(rate))
        if (!rate.allowed) throw new Problem('rate_limited', 'Too many changes in this company.')
      }
      return { ...admitted, vendorId }
    },
    turn: ({ vendorId }, handle) => queue(vendorId, handle),
    problems: [...session.problems, 'forbidden'],
  }
}
