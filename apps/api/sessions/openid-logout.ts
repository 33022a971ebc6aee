import { z } from 'zod'
import { findUserByIdentity } from '#shared/accounts/openid-identities.ts'
import { hashSecret } from '#shared/oauth/ids.ts'
import { Problem, unavailable } from '#shared/problems/problems.ts'
import { addressSubject, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { byteReader } from '../http/received-bytes.ts'
import { type Route, route } from '../http/route.ts'
import { logSessionEnd } from '../http/session-end.ts'
import type { ApiContext } from '../http/state.ts'
import type { SessionDependencies } from './dependencies.ts'
import { type ConfiguredOpenid, whereConfigured } from './openid-configured.ts'
import type { OpenidLogout } from './openid-logout-token.ts'
import { OpenidRefusal } from './openid-refusal.ts'
import { deleteOpenidSessions, type OpenidSession } from './sessions.ts'

const BODY_MAX_BYTES = 16 * 1_024
const FORM = 'application/x-www-form-urlencoded'
const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(;|$)/i

const LogoutRequest = z
  .object({ logout_token: z.string().meta({ description: 'A JWT of the provider.' }) })
  .meta({ id: 'OpenidLogout' })

export function postOpenidLogout(deps: SessionDependencies): Route {
  const read = byteReader(BODY_MAX_BYTES)
  return route({
    method: 'post',
    path: '/v1/session/openid/logout',
    // It may wait for the provider's keys.
    deadline: 'own',
    operationId: 'endOpenidSessions',
    tag: 'Session',
    summary: 'Where the OpenID provider reports that sessions have ended',
    description:
      'For the provider (OpenID Connect Back-Channel Logout 1.0 §2.5). The sessions that began with the named session of the provider end at once, or all that the provider began for the person.',
    by: whereConfigured(deps.openid),
    publishedBody: LogoutRequest,
    bodyType: FORM,
    answers: { 200: { description: 'They have ended, or there were none.' } },
    problems: [
      'invalid_request',
      'malformed_json',
      'payload_too_large',
      'request_timeout',
      'rate_limited',
      'unavailable',
    ],
    async handle({ configured }, ctx) {
      try {
        if (!FORM_TYPE.test(ctx.get('Content-Type'))) throw new OpenidRefusal('not_trusted', 'media_type')
        const token = logoutTokenOf(await read(ctx))
        await endSessions(ctx, deps, configured, token)
      } catch (error) {
        throw error instanceof OpenidRefusal ? await refused(ctx, deps, error) : error
      }
      ctx.body = null
      ctx.status = 200
      return undefined
    },
  })
}

/** @throws OpenidRefusal */
function logoutTokenOf(body: Buffer): string {
  const [token, another] = new URLSearchParams(body.toString()).getAll('logout_token')
  if (token === undefined || another !== undefined) throw new OpenidRefusal('not_trusted', 'logout_token')
  return token
}

/** @throws OpenidRefusal */
async function endSessions(
  ctx: ApiContext,
  { db, openidOnce }: SessionDependencies,
  { settings: { issuer }, provider }: ConfiguredOpenid,
  token: string,
): Promise<void> {
  const { jti, ...logout } = await provider.logout(token, { address: ctx.state.request.clientAddress })
  const use = hashSecret(`logout ${jti}`).toString('base64url')
  if ((await openidOnce.consume(use, 0)).remaining === 0) throw new OpenidRefusal('not_trusted', 'replay')
  // First, so that a session that begins meanwhile is either found here or not kept.
  if (logout.sid !== undefined) await openidOnce.consume(endOf(issuer, logout.sid))
  for (const ended of await endSessionsOf({ db }, { issuer, ...logout }))
    logSessionEnd(ctx.state.log, { ...ended, why: 'signed_out_at_provider', from: ctx })
  // Only now: if the database failed, the provider may send it again.
  await openidOnce.consume(use)
}

const endOf = (issuer: string, sid: string) => hashSecret(`ended ${issuer} ${sid}`).toString('base64url')

/**
 * Ends the session that just began if the provider has reported the end of its own since the sign-in started, when
 * there was none here yet. Returns whether it did. A report that names the person alone is not remembered: it could
 * not be told from a report before the person signed in there again.
 */
export async function endIfEnded(
  ctx: ApiContext,
  { db, openidOnce }: SessionDependencies,
  { issuer, sid }: OpenidSession,
): Promise<boolean> {
  if (sid === undefined || (await openidOnce.consume(endOf(issuer, sid), 0)).remaining > 0) return false
  for (const ended of await deleteOpenidSessions(db, { issuer, sid, userId: undefined }))
    logSessionEnd(ctx.state.log, { ...ended, why: 'signed_out_at_provider', from: ctx })
  return true
}

async function endSessionsOf(
  { db }: Pick<SessionDependencies, 'db'>,
  { issuer, subject, sid }: Omit<OpenidLogout, 'jti'> & { issuer: string },
): Promise<{ userId: string; sessionId: string }[]> {
  if (subject === undefined) return deleteOpenidSessions(db, { issuer, sid, userId: undefined })
  const user = await findUserByIdentity(db, { issuer, subject })
  return user ? deleteOpenidSessions(db, { issuer, sid, userId: user.userId }) : []
}

/** A good token is never refused because of bad ones from its address. */
async function refused(
  ctx: ApiContext,
  { guessesPerAddress }: SessionDependencies,
  { reason, about }: OpenidRefusal,
): Promise<Problem> {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info(
    { event: 'openid_logout.refused', clientAddress, reason, about },
    'no sessions were ended',
  )
  const guesses = await guessesPerAddress.consume(addressSubject(clientAddress))
  if (!guesses.allowed)
    return new Problem('rate_limited', 'Too many logout tokens from this address cannot be trusted.', {
      headers: rateLimitHeaders(guesses),
    })
  if (reason === 'not_trusted') return new Problem('invalid_request', 'The logout token cannot be trusted.')
  return unavailable('The logout token cannot be verified right now.')
}
