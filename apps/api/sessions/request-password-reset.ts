import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import type { Clock } from '#shared/process/clock.ts'
import type { Queryable } from '#shared/stores/postgres.ts'
import { emailAddress } from '../accounts/names.ts'
import { newPasswordResetToken } from '../accounts/new-ids.ts'
import { isLinked } from '../accounts/openid-identities.ts'
import { listAccounts, lockAccount, normalizedEmail } from '../accounts/people.ts'
import { route } from '../http/route.ts'
import { type Addressee, type FindAddressee, findAccountAddressee } from '../mail/addressee.ts'
import type { MailDetails } from '../mail/kinds.ts'
import { addMail, takeMails } from '../mail/outbox.ts'
import { requireResetByMail } from './access.ts'
import { requireUnfencedDatabase } from './fence.ts'
import { insertPasswordReset } from './password-resets.ts'
import type { SignInNeeds } from './prove-account.ts'
import { countResetRequest } from './sign-in-limits.ts'

/** Each takes a query, less than a millisecond. */
const REQUESTS_PER_STEP = 200

export const requestPasswordResetRoute = route({
  method: 'post',
  path: '/v1/password-reset',
  operationId: 'requestPasswordReset',
  tag: 'Session',
  summary: 'Ask for a link to set a new password',
  description:
    'If the address has an account, a link is emailed to it, which works once, within an hour. An address may ' +
    'have several accounts; each gets an email, which names its companies. Whether there is one is looked up ' +
    'only when the email is sent, so the answer does not reveal it. 404 if nothing is emailed here, or there ' +
    'are no passwords.',
  access: requireResetByMail,
  body: z.strictObject({ email: emailAddress }).meta({ id: 'PasswordResetRequest' }),
  answers: { 202: { description: 'If the address has an account, an email is on its way.' } },
  problems: ['rate_limited', 'unavailable'],
  async handle({ body }, { db, clock, accountName, signInLimits }: SignInNeeds, ctx) {
    const email = normalizedEmail(body.email)
    await countResetRequest(ctx, signInLimits, email)
    await requireUnfencedDatabase(db)
    const { log, request } = ctx.state
    const who = { clientAddress: request.clientAddress, account: await accountName(email) }
    const detail = { email, requestedAt: new Date(clock.now()).toISOString() }
    await addMail(db, 'password_reset_request', { topic: 'an address', userId: null, detail })
    log.info({ event: 'password_reset.requested', ...who }, 'someone asked for a new password')
    return undefined
  },
})

interface ResetMailSettings {
  clock: Clock
  /** The workspace's URL. */
  baseUrl: string
  builtInAccounts: boolean
  /** The OpenID provider that people may sign in with, if there is one. */
  openid: object | undefined
}

/** Returns whom the mails about a forgotten password are for. */
export function createResetAddressees({ clock, baseUrl, builtInAccounts, openid }: ResetMailSettings) {
  /**
   * Replaces requests by the mails for the accounts of their addresses. It takes others along, so that a
   * flood of them does not hold up mails. What strangers typed is not kept.
   */
  const password_reset_request: FindAddressee = async (db) => {
    await db.transaction(async (transaction) => {
      const requests = await takeMails(transaction, 'password_reset_request', REQUESTS_PER_STEP)
      requests.sort((a, b) => (a.detail.requestedAt < b.detail.requestedAt ? -1 : 1))
      // Only the last of an address: its link would end those of the others.
      const latest = new Map(requests.map((request) => [request.detail.email, request]))
      for (const { mailId: topic, detail } of latest.values())
        for (const { userId } of await listAccounts(transaction, detail.email)) {
          const kind = (await isLinked(transaction, userId)) ? 'sign_in_with_provider' : 'password_reset'
          await addMail(transaction, kind, { topic, userId, detail: { requestedAt: detail.requestedAt } })
        }
    })
    return undefined
  }

  /** Each mail has a link of its own. */
  const password_reset: FindAddressee = async (db, { userId, detail }) => {
    if (!builtInAccounts || userId === null) return undefined
    const { requestedAt } = detail as MailDetails['password_reset']
    const token = newPasswordResetToken()
    return db.transaction(async (transaction) => {
      await lockAccount(transaction, userId)
      const account = await findResettableAccount(transaction, userId)
      if (!account) return undefined
      const expiresAt = await insertPasswordReset(transaction, {
        userId,
        tokenHash: hashSecret(token),
        requestedAt: new Date(requestedAt),
        now: new Date(clock.now()),
      })
      // A fragment is never sent to a server, so no log contains it.
      return expiresAt && { ...account, link: { url: `${baseUrl}/password-reset#${token}`, expiresAt } }
    })
  }

  const sign_in_with_provider: FindAddressee = async (db, { userId }) =>
    openid && userId !== null ? findMemberAccount(db, userId) : undefined

  return { password_reset_request, password_reset, sign_in_with_provider }
}

/** Returns undefined if the person gets no link to set a new password on request. */
export const findResettableAccount = async (db: Queryable, userId: string) =>
  (await isLinked(db, userId)) ? undefined : findMemberAccount(db, userId)

/** Returns undefined if the account has ended or belongs to no company. */
async function findMemberAccount(db: Queryable, userId: string): Promise<Addressee | undefined> {
  const account = await findAccountAddressee(db, userId)
  return account && account.companies.length > 0 ? account : undefined
}
