import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { findMembership } from '#shared/people.ts'
import { Problem } from '#shared/problems.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { documented } from './documented.ts'
import type { ApiMiddleware } from './state.ts'

/**
 * Lets the owner and the active admins of the path's company pass, and nobody else. Role and status are read on
 * every request. Everyone else gets the same 403, whether or not there is such a company.
 */
export function createManagerMiddleware({
  session,
  db,
}: {
  session: ApiMiddleware
  db: Database
}): ApiMiddleware {
  const middleware: ApiMiddleware = (ctx, next) =>
    session(ctx, async () => {
      const vendorId = ctx.params.vendorId ?? ''
      if (!(await manages(vendorId, ctx.state.session?.userId ?? ''))) {
        throw new Problem('forbidden', 'Only the owner and active admins of this company may do this.')
      }
      ctx.state.vendorId = vendorId
      await next()
    })
  async function manages(vendorId: string, userId: string): Promise<boolean> {
    if (!VENDOR_ID_PATTERN.test(vendorId)) return false
    const membership = await findMembership(db, { vendorId, userId })
    return membership?.role === 'owner' || (membership?.role === 'admin' && membership.status === 'active')
  }
  return documented(middleware, {
    security: { scheme: 'session' },
    problems: ['unauthenticated', 'forbidden', 'unavailable'],
  })
}
