import { z } from 'zod'
import { PASSWORD_MIN_CHARACTERS } from '#shared/rules/passwords.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { recordActivity, recordAddressClaim } from '../accounts/activity.ts'
import { personName } from '../accounts/names.ts'
import { isLinked } from '../accounts/openid-identities.ts'
import { hashPassword } from '../accounts/passwords.ts'
import {
  type Account,
  findMemberByEmail,
  insertUser,
  listAccounts,
  listMemberships,
  lockAccount,
  lockAddress,
  lockMembers,
  lockPassword,
  saveMembership,
  type User,
} from '../accounts/people.ts'
import { invalidMember } from '../http/input.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { type Problem, unavailable } from '../problems/problems.ts'
import { requireBuiltInAccounts } from '../sessions/access.ts'
import { beginSession, CreatedSession, cookieInput } from '../sessions/begin-session.ts'
import { passwordFault } from '../sessions/guessable-passwords.ts'
import { type LinkNeeds, linkToken, requireLink } from '../sessions/link-token.ts'
import { passwordInput, proveAccount, type SignInNeeds, wrongCredentials } from '../sessions/prove-account.ts'
import { findResettableAccount } from '../sessions/request-password-reset.ts'
import type { EndedSession } from '../sessions/session-events.ts'
import { deleteSessions } from '../sessions/sessions.ts'
import { type Invitation, withdrawInvitation } from './invitations.ts'
import { INVITATION_LINK } from './preview-invitation.ts'

const AcceptedInvitation = z
  .strictObject({
    token: linkToken,
    password: passwordInput,
    name: personName.optional().meta({
      description: "A new account's name, if not the invitation's. An existing account keeps its name.",
    }),
    existingAccount: z.boolean('must be true or false').default(false).meta({
      description: 'true: join only with an existing account that has this password.',
    }),
    cookie: cookieInput,
  })
  .meta({ id: 'AcceptedInvitation' })

type AcceptNeeds = SignInNeeds & LinkNeeds & { mailIsOn: boolean }

export const acceptInvitationRoute = route({
  method: 'post',
  path: '/v1/invitation',
  operationId: 'acceptInvitation',
  tag: 'Session',
  summary: 'Accept an invitation and sign in',
  description:
    'Send the token from the link, and a password. If it is the password of an account with this address, that ' +
    'account joins. Otherwise a new account is created with it, unless the link was emailed and an account has a password ' +
    'that can be reset by email: then 401. Older accounts with this address stay in their companies, ' +
    'whose activity records this, and must sign in again unless linked to an OpenID provider. ' +
    'If the person already belongs to the company, the role stays as it is.',
  access: requireBuiltInAccounts,
  body: AcceptedInvitation,
  answers: {
    201: { description: 'Accepted and signed in.', schema: CreatedSession, headers: ['Set-Cookie'] },
  },
  problems: ['invitation_not_valid', 'invalid_credentials', 'forbidden', 'rate_limited', 'unavailable'],
  async handle({ body }, needs: AcceptNeeds, ctx) {
    const { cookie } = needs
    const { token, name, cookie: inCookie } = body
    if (inCookie) cookie.requireOwnPage(ctx)
    const invitation = await requireLink(ctx, needs, token, INVITATION_LINK)
    const invitee = { ...invitation, name: name ?? invitation.name }
    const { account, unproven } = await proveOrPrepareAccount(ctx, needs, invitee, body)
    const join = async (transaction: Queryable) => {
      await lockMembers(transaction, invitation.vendorId)
      if (!(await withdrawInvitation(transaction, invitation))) throw INVITATION_LINK.notValid()
      const isNew = account.userId === invitation.userId
      if (isNew && !(await lockAddress(transaction, invitation.email, unproven)))
        throw unavailable('The invitation could not be accepted just now. Try again.')
      if (!(await addMember(transaction, invitation, account))) throw wrongCredentials()
      const endedSessions = await endUnprovenSessions(transaction, unproven)
      if (!(await lockPassword(transaction, account))) throw wrongCredentials()
      return { user: account, endedSessions }
    }
    return beginSession(ctx, needs, { inCookie, how: 'invitation' }, join)
  },
})

/**
 * Returns the account that the password proves, or else a new one for the address, and the older accounts
 * that it does not prove. Neither its time nor its answer reveals whether the address has an account, unless
 * the link was mailed: then the person can reset the password of their account, and needs no second one.
 */
async function proveOrPrepareAccount(
  ctx: ApiContext,
  needs: AcceptNeeds,
  { userId, email, name, companyName, isMailed }: User & { companyName: string; isMailed: boolean },
  { password, existingAccount }: z.infer<typeof AcceptedInvitation>,
) {
  // No account can have such a password, so this reveals nothing.
  if ([...password].length < PASSWORD_MIN_CHARACTERS) throw invalidPassword(passwordFault(password, []))
  const existing = await listAccounts(needs.db, email)
  const readAccounts = async () => existing
  const proof = await proveAccount(ctx, needs, { email, password, readAccounts, mayCreate: !existingAccount })
  if (proof.account) return { account: proof.account, unproven: [] }
  if (existingAccount) throw wrongCredentials()
  if (isMailed && needs.mailIsOn && (await canAnyReset(needs.db, existing)))
    throw wrongCredentials('This address has an account. Send its password, or reset that first.')
  const fault = passwordFault(password, [email, name, companyName])
  if (fault) throw invalidPassword(fault)
  const saltFrom = existing[0]?.passwordHash
  const passwordHash = await needs.passwords.runQueued(proof.client, () =>
    hashPassword(password, { saltFrom }),
  )
  return { account: { userId, email, name, passwordHash }, unproven: existing }
}

/** Returns whether one of the accounts gets a link to set a new password if its person asks for one. */
async function canAnyReset(db: Queryable, accounts: readonly User[]): Promise<boolean> {
  for (const { userId } of accounts) if (await findResettableAccount(db, userId)) return true
  return false
}

/** Returns false if the address is that of another account of the company. An operator may have added it. */
async function addMember(
  transaction: Queryable,
  { vendorId, userId: invitedId, role: invitedRole }: Invitation,
  { userId, name, email, passwordHash }: Account,
): Promise<boolean> {
  const member = await findMemberByEmail(transaction, { vendorId, email })
  if (member && member.userId !== userId) return false
  if (userId === invitedId) await insertUser(transaction, { userId, name, email, passwordHash })
  if (!member) await saveMembership(transaction, { vendorId, userId, role: invitedRole, status: 'active' })
  const detail = { name, email, role: member?.role ?? invitedRole }
  await recordActivity(transaction, { vendorId, by: userId }, 'person.joined', userId, detail)
  return true
}

/**
 * Someone else may have created the older accounts of an address, so their sessions end and their companies
 * see why. They keep their companies and passwords: otherwise any company could lock out another's people by
 * inviting them. It happens once per account, so no company can repeat it. Returns the ended sessions.
 */
async function endUnprovenSessions(
  transaction: Queryable,
  accounts: readonly Account[],
): Promise<EndedSession[]> {
  const sessions: EndedSession[] = []
  for (const { userId, name, email } of accounts) {
    // A provider's sign-in may link it at the same time.
    await lockAccount(transaction, userId)
    if (await isLinked(transaction, userId)) continue
    const detail = { name, email }
    let isFirst = false
    for (const { vendorId } of await listMemberships(transaction, userId))
      if (await recordAddressClaim(transaction, { vendorId, userId, detail })) isFirst = true
    if (!isFirst) continue
    for (const sessionId of await deleteSessions(transaction, userId))
      sessions.push({ userId, sessionId, why: 'address_claimed' })
  }
  return sessions
}

const invalidPassword = (detail = 'is not valid'): Problem => invalidMember('/password', detail)
