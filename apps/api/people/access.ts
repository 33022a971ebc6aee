import { VENDOR_ID_PATTERN } from '#shared/oauth/ids.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { type CompanyRole, findMember, MANAGER_ROLES } from '../accounts/people.ts'
import type { FairQueue } from '../http/fair-queue.ts'
import type { Access, Turn } from '../http/route.ts'
import { Problem } from '../problems/problems.ts'
import { type SessionNeeds, signedIn } from '../sessions/access.ts'
import type { SessionState } from '../sessions/sessions.ts'

/** A person who may act for the company of the path. */
export interface CompanyCaller {
  session: SessionState
  vendorId: string
}

interface CompanyNeeds extends SessionNeeds {
  /** Companies take turns. */
  companyTurns: FairQueue
  /** So do the people of a company, so that none can keep its owner from acting. */
  personTurns: FairQueue
}

/** Returns the turn of a person of a company: two waits of five seconds at most. */
const turnOf =
  ({ session, vendorId }: CompanyCaller, { companyTurns, personTurns }: CompanyNeeds): Turn =>
  (handle) =>
    personTurns(session.userId, () => companyTurns(vendorId, handle))

/** The owner and active admins, for routes that only read. */
export const canRead = membersWith(MANAGER_ROLES, 'the owner and active admins')

/** The people of canRead and active viewers: for clients, refusals, the callback URL and analytics. */
export const canView = membersWith(
  [...MANAGER_ROLES, 'viewer'],
  'the owner, active admins and active viewers',
)

/** The people of canRead, for routes that act. */
export const canManage = canRead

const TOO_MANY_CHANGES = 'Too many changes in this company.'

/** The people of canRead, for changes, which are counted even if their body is refused. */
export const canWrite = counted(canManage, 'changesPerCompany', TOO_MANY_CHANGES)

const isOwner = membersWith(['owner'], 'the owner')

/** The owner alone, for changes to people. No admin can use up their count, and so stay. */
export const ownerOnly = counted(isOwner, 'changesPerCompany', TOO_MANY_CHANGES, 'people:')

/**
 * Admits only active people of the path's company with one of these roles. Role and status are read on every
 * request. Everyone else gets the same 403, whether or not the company exists.
 * @param people who they are, for the 403 and the description of the route.
 */
function membersWith(roles: readonly CompanyRole[], people: string): Access<CompanyCaller, CompanyNeeds> {
  return {
    ...signedIn,
    people,
    async admit(ctx, needs) {
      const { session } = await signedIn.admit(ctx, needs)
      const vendorId = ctx.params.vendorId ?? ''
      const isId = VENDOR_ID_PATTERN.test(vendorId)
      const member = isId ? await findMember(needs.db, { vendorId, userId: session.userId }) : undefined
      if (member?.status !== 'active' || !roles.includes(member.role))
        throw new Problem('forbidden', `Only ${people} of this company may do this.`)
      ctx.state.vendorId = vendorId
      return { session, vendorId }
    },
    turn: turnOf,
  }
}

/**
 * Counts each request against a limit of the company, before its body is read. The answer's RateLimit fields
 * are then those of this limit, in place of the session's.
 * @param detail the sentence of the 429.
 * @param apart begins the subject of what is counted apart from the limit's other uses.
 */
export function counted<Limit extends string>(
  access: Access<CompanyCaller, CompanyNeeds>,
  limit: Limit,
  detail: string,
  apart = '',
): Access<CompanyCaller, CompanyNeeds & Record<Limit, RateLimit>> {
  return {
    ...access,
    async admit(ctx, needs) {
      const caller = await access.admit(ctx, needs)
      const rate = await needs[limit].consume(apart + caller.vendorId)
      ctx.set(rateLimitHeaders(rate))
      if (!rate.allowed) throw new Problem('rate_limited', detail)
      return caller
    },
  }
}
