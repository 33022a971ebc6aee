import { findMembership, type Role } from '#shared/accounts/people.ts'
import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems/problems.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { Access } from './route.ts'
import type { SessionState } from './state.ts'

/** A person who may act for the company of the path. */
export interface Manager {
  session: SessionState
  vendorId: string
}

/**
 * Allows only the owner and the active admins of the path's company, or only the roles in `roles`. Role and status are
 * read on every request. Everyone else gets the same 403, whether or not the company exists.
 */
export function createManagerAccess(
  { session, db }: { session: Access<{ session: SessionState }>; db: Database },
  { roles = ['owner', 'admin'] }: { roles?: readonly Role[] } = {},
): Access<Manager> {
  const who = roles.includes('admin') ? 'the owner and active admins' : 'the owner'
  async function mayAct(vendorId: string, userId: string): Promise<boolean> {
    if (!VENDOR_ID_PATTERN.test(vendorId)) return false
    const membership = await findMembership(db, { vendorId, userId })
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
      return { ...admitted, vendorId }
    },
    problems: [...session.problems, 'forbidden'],
  }
}
