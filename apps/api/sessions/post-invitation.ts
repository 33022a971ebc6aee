import { appendActivity } from '#shared/activity.ts'
import { findInvitation, type Invitation, useInvitation } from '#shared/invitations.ts'
import { hashSecret, INVITATION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import { hashPassword, PASSWORD_MIN_CHARACTERS } from '#shared/passwords.ts'
import { findMembership, findUserByEmail, insertUser, lockMembers, saveMembership } from '#shared/people.ts'
import { Problem } from '#shared/problems.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { sqlState } from '#shared/stores/postgres-errors.ts'
import { addressSubject, type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { unavailable } from '../http/problem.ts'
import { anyone, type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { beginSession } from './begin.ts'
import { type SignInDependencies, wrongCredentials } from './post-session.ts'
import { AcceptedInvitation, NewSession } from './schemas.ts'
import { isKnownAddress } from './sign-in-addresses.ts'
import { countAttempt, countFailure, refuseStranger } from './sign-in-limits.ts'

const TOKEN = new RegExp(`^${INVITATION_TOKEN_PATTERN.source}$`)
const UNIQUE_VIOLATION = '23505'

export interface InvitationDependencies extends SignInDependencies {
  /** Counts unknown invitation tokens by address. */
  guessesPerAddress: RateLimit
}

export function postInvitation(deps: InvitationDependencies): Route {
  const { db, clock, cookie, passwords, guessesPerAddress } = deps

  /** @throws Problem invitation_not_valid, or rate_limited after too many of them. */
  async function invitationOf(ctx: ApiContext, token: string): Promise<Invitation & { tokenHash: Buffer }> {
    const tokenHash = hashSecret(token)
    const now = new Date(clock.now())
    const invitation = TOKEN.test(token) && (await findInvitation(db, { tokenHash, now }))
    if (invitation) return { ...invitation, tokenHash }
    const guesses = await guessesPerAddress.consume(addressSubject(ctx.state.request.clientAddress))
    if (guesses.allowed) throw notValid()
    throw new Problem('rate_limited', 'Too many invalid invitations were sent from this address.', {
      headers: rateLimitHeaders(guesses),
    })
  }

  /** The invited person's account. If there already is one, @throws Problem as signing in does. */
  async function accountOf(ctx: ApiContext, { userId, email, name }: Invitation, password: string) {
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
      'Send the token from the link. A person without an account chooses a password; others send their current one.',
    by: anyone,
    body: AcceptedInvitation,
    answers: {
      201: {
        description: 'Accepted and signed in.',
        schema: NewSession,
        headers: { 'Set-Cookie': 'The session, if it was asked for as a cookie.' },
      },
    },
    problems: ['invitation_not_valid', 'invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
    async handle({ body: { token, password, cookie: inCookie } }, ctx) {
      if (inCookie) cookie.requireOwnPage(ctx)
      const invitation = await invitationOf(ctx, token)
      const { user, isNew } = await accountOf(ctx, invitation, password)
      const join = async (transaction: Queryable) => {
        await lockMembers(transaction, invitation.vendorId)
        if (!(await useInvitation(transaction, invitation.tokenHash))) throw notValid()
        if (isNew) await insertUser(transaction, user)
        await addMember(transaction, invitation, user.userId)
      }
      const begun = await beginSession(ctx, deps, { user, inCookie }, join).catch((error: unknown) => {
        // An account for this address was created just now, with its own password.
        if (sqlState(error) === UNIQUE_VIOLATION) throw unavailable('Try again in a moment.')
        throw error
      })
      if (!begun) throw wrongCredentials()
      return begun
    },
  })
}

async function addMember(
  transaction: Queryable,
  { vendorId, name, email, role }: Invitation,
  userId: string,
): Promise<void> {
  // An operator may have added the person meanwhile.
  if (!(await findMembership(transaction, { vendorId, userId }))) {
    await saveMembership(transaction, { vendorId, userId, role, status: 'active' })
  }
  const detail = { name, email, role }
  await appendActivity(transaction, { vendorId, userId, action: 'person.joined', subject: userId, detail })
}

const notValid = (): Problem =>
  new Problem('invitation_not_valid', 'The link was used, withdrawn or replaced, or is older than 72 hours.')

const tooShort = (): Problem =>
  new Problem('invalid_input', 'The body breaks a rule; errors says which.', {
    errors: [{ pointer: '/password', detail: `must have at least ${PASSWORD_MIN_CHARACTERS} characters` }],
  })
