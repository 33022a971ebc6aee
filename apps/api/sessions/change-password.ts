import { hashPassword, indexOfPassword } from '../accounts/passwords.ts'
import { changePassword, listAccounts, listMemberships } from '../accounts/people.ts'
import { invalidMember } from '../http/input.ts'
import { route } from '../http/route.ts'
import { signedIn } from './access.ts'
import { type BuiltInSetting, requireBuiltIn } from './built-in.ts'
import { passwordFault } from './guessable-passwords.ts'
import { proveAccount, type SignInNeeds } from './prove-account.ts'
import { PasswordChange } from './schemas.ts'
import { logSessionEnd } from './session-end.ts'

export const changePasswordRoute = route({
  method: 'put',
  path: '/v1/session/password',
  operationId: 'changePassword',
  tag: 'Session',
  summary: 'Change your own password',
  description: 'All other sessions of the user end.',
  by: signedIn,
  body: PasswordChange,
  answers: { 204: { description: 'The password has changed.' } },
  async handle(
    { session, body: { currentPassword, newPassword } },
    needs: SignInNeeds & BuiltInSetting,
    ctx,
  ) {
    requireBuiltIn(needs)
    const { db, passwords } = needs
    const { userId, email, name, tokenHash } = session
    const all = await listAccounts(db, email)
    const own = all.filter((one) => one.userId === userId)
    const accounts = async () => own
    const proof = await proveAccount(ctx, needs, { email, password: currentPassword, accounts })
    if (!proof.account) throw invalidMember('/currentPassword', 'is not your password')
    const companies = (await listMemberships(db, userId)).map((company) => company.name)
    const fault = passwordFault(newPassword, [email, name, ...companies])
    if (fault) throw invalidMember('/newPassword', fault)
    // If an address's accounts shared a password, signing in would only ever reach one.
    const hashes = all.map(({ passwordHash }) => passwordHash)
    const isNew = await passwords.inLine(
      proof.from,
      async () => (await indexOfPassword(newPassword, hashes)) < 0,
    )
    if (!isNew) throw invalidMember('/newPassword', 'must not be a current password of this address')
    const before = proof.account.passwordHash
    const passwordHash = await passwords.inLine(proof.from, () => hashPassword(newPassword, { like: before }))
    const change = { userId, before, passwordHash, keep: tokenHash }
    const ended = await db.transaction((transaction) => changePassword(transaction, change))
    if (!ended) throw invalidMember('/currentPassword', 'is no longer your password')
    const { log } = ctx.state
    log.info({ event: 'password.changed', userId }, 'a person changed their password')
    for (const sessionId of ended)
      logSessionEnd(log, { userId, sessionId, why: 'password_changed', from: ctx })
    return undefined
  },
})
