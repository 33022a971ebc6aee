import { appendActivity } from '#shared/accounts/activity.ts'
import { type Invitation, useInvitation } from '#shared/accounts/invitations.ts'
import { hashPassword, PASSWORD_MIN_CHARACTERS } from '#shared/accounts/passwords.ts'
import {
  findMembership,
  findUserByEmail,
  holdPassword,
  insertUser,
  lockMembers,
  saveMembership,
  type User,
} from '#shared/accounts/people.ts'
import { Problem, unavailable } from '#shared/problems/problems.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { sqlState, UNIQUE_VIOLATION } from '#shared/stores/postgres-errors.ts'
import { addressSubject } from '#shared/stores/rate-limit.ts'
import { type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { beginSession } from './begin.ts'
import { type SignInDependencies, wrongCredentials } from './post-session.ts'
import {
  notValid,
  type PresentedInvitationDependencies,
  presentedInvitation,
} from './presented-invitation.ts'
import { AcceptedInvitation, CreatedSession } from './schemas.ts'
import { isKnownAddress } from './sign-in-addresses.ts'
import { countAttempt, countFailure, refuseStranger } from './sign-in-limits.ts'

export type InvitationDependencies = SignInDependencies & PresentedInvitationDependencies

export function postInvitation(deps: InvitationDependencies): Route {
  const { db, clock, cookie, passwords } = deps

  /** The invited person's account. If there already is one, @throws Problem as signing in does. */
  async function accountOf(ctx: ApiContext, { userId, email, name }: User, password: string) {
    const { clientAddress: address } = ctx.state.request
    const there = await findUserByEmail(db, email)
    if (!there) {
      if ([...password].length < PASSWORD_MIN_CHARACTERS) throw tooShort()
      const passwordHash = await passwords.inLine({ address, known: false }, () => hashPassword(password))
      return { user: { userId, email, name, passwordHash }, isNew: true }
    }
    await countAttempt(ctx, deps.limits, email)
    const known = await isKnownAddress(db, {
      email,
      address: addressSubject(address),
      now_ms: clock.now(),
    })
    if (!known) await refuseStranger(ctx, deps.limits, email)
    if (!(await passwords.check({ address, known }, password, there.passwordHash))) {
      if (!known) await countFailure(deps.limits, email)
      throw wrongCredentials()
    }
    return { user: there, isNew: false }
  }

  return route({
    method: 'post',
    path: '/v1/invitation',
    operationId: 'acceptInvitation',
    tag: 'Session',
    summary: 'Accept an invitation and sign in',
    description:
      'Send the token from the link. A person without an account chooses a password; others send their current one. ' +
      'If the person already belongs to the company, the role stays as it is.',
    by: deps.builtIn,
    body: AcceptedInvitation,
    answers: {
      201: {
        description: 'Accepted and signed in.',
        schema: CreatedSession,
        headers: { 'Set-Cookie': 'The session, if it was asked for as a cookie.' },
      },
    },
    problems: ['invitation_not_valid', 'invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
    async handle({ body: { token, password, name, cookie: inCookie } }, ctx) {
      if (inCookie) cookie.requireOwnPage(ctx)
      const invitation = await presentedInvitation(ctx, deps, token)
      const { user, isNew } = await accountOf(ctx, { ...invitation, ...(name && { name }) }, password)
      const join = async (transaction: Queryable) => {
        await lockMembers(transaction, invitation.vendorId)
        if (!(await useInvitation(transaction, invitation.tokenHash))) throw notValid()
        if (isNew) await insertUser(transaction, user)
        await addMember(transaction, invitation, user)
        return (await holdPassword(transaction, user)) ? user : undefined
      }
      const begun = await beginSession(ctx, deps, { inCookie, how: 'invitation' }, join).catch(
        (error: unknown) => {
          // An account for this address was created just now, with its own password.
          if (sqlState(error) === UNIQUE_VIOLATION) throw unavailable('Try again in a moment.')
          throw error
        },
      )
      if (!begun) throw wrongCredentials()
      return begun
    },
  })
}

async function addMember(
  transaction: Queryable,
  { vendorId, role: invited }: Invitation,
  { userId, name, email }: User,
): Promise<void> {
  // An operator may have added the person meanwhile.
  const member = await findMembership(transaction, { vendorId, userId })
  if (!member) await saveMembership(transaction, { vendorId, userId, role: invited, status: 'active' })
  const detail = { name, email, role: member?.role ?? invited }
  await appendActivity(transaction, { vendorId, userId, action: 'person.joined', subject: userId, detail })
}

const tooShort = (): Problem =>
  new Problem('invalid_input', 'The body breaks a rule; errors says which.', {
    errors: [{ pointer: '/password', detail: `must have at least ${PASSWORD_MIN_CHARACTERS} characters` }],
  })
