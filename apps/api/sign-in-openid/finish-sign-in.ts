import { hashSecret } from '#shared/oauth/ids.ts'
import { within } from '#shared/process/within.ts'
import type { Database } from '#shared/stores/postgres.ts'
import type { RateLimit } from '#shared/stores/rate-limit.ts'
import { logFailure, toProblem } from '../http/problem.ts'
import { route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { unavailable } from '../problems/problems.ts'
import { beginSession } from '../sessions/begin-session.ts'
import type { SessionCookie } from '../sessions/cookie.ts'
import type { SessionLimits } from '../sessions/read-session.ts'
import { sqlState, UNIQUE_VIOLATION } from '../stores/postgres-errors.ts'
import { requireOpenid } from './access.ts'
import type { PendingSignIn } from './pending-sign-in.ts'
import { admitPerson, readClaims } from './person.ts'
import { CALLBACK_PATH, type ConfiguredOpenid } from './provider.ts'
import { logSignInRefusal, SIGN_IN_REFUSALS, SignInRefusal } from './refusal.ts'

/** For the steps after the provider's answer. */
const SESSION_DEADLINE_MS = 8_000

interface FinishNeeds extends SessionLimits {
  db: Database
  cookie: SessionCookie
  /** The workspace's URL. */
  baseUrl: string
  /** Allows each `state` once. */
  openidOnce: RateLimit
}

export const finishOpenidSignInRoute = route({
  method: 'get',
  path: CALLBACK_PATH,
  deadline: 'own',
  operationId: 'finishOpenidSignIn',
  tag: 'Session',
  summary: 'OpenID Connect redirect URI',
  description:
    'Takes the query of an authorization response (RFC 6749 §4.1.2, RFC 9207). Redirects to the workspace, signed in or not, with the outcome in the fragment.',
  access: requireOpenid,
  answers: {
    303: {
      description: `To the workspace. The fragment is \`#sign-in=done\`, or the reason: ${SIGN_IN_REFUSALS.join(', ')}.`,
      headers: ['Location', 'Set-Cookie'],
    },
  },
  async handle({ configured }, needs: FinishNeeds, ctx) {
    const { pendingSignIns } = configured
    // Not validated like other queries: the browser must always reach a page.
    const state = new URLSearchParams(ctx.querystring).get('state')
    let pending: PendingSignIn | undefined
    let outcome = 'done'
    try {
      const stored = await pendingSignIns.read(ctx)
      // A different state belongs to another browser, or to an earlier try.
      pending = stored?.state === state ? stored : undefined
      if (!pending || !(await isFirst(needs, pending))) throw new SignInRefusal('expired')
      await finish(ctx, needs, configured, pending)
    } catch (error) {
      const refusal = asRefusal(ctx, error)
      logSignInRefusal(ctx, refusal)
      outcome = refusal.reason
    }
    // Otherwise any site could cancel a sign-in in progress.
    if (pending) pendingSignIns.clear(ctx)
    ctx.set('Location', `${needs.baseUrl}${pending?.to ?? '/'}#sign-in=${outcome}`)
    ctx.body = ''
    return undefined
  },
})

const isFirst = async ({ openidOnce }: FinishNeeds, { state }: PendingSignIn) =>
  (await openidOnce.consume(hashSecret(state).toString('base64url'))).allowed

async function finish(
  ctx: ApiContext,
  needs: FinishNeeds,
  { settings, provider }: ConfiguredOpenid,
  pending: PendingSignIn,
): Promise<void> {
  const { clientAddress: address } = ctx.state.request
  const person = readClaims(await provider.claims(ctx.querystring, pending, { address }), settings)
  const now = new Date(needs.clock.now())
  const authenticatedAt = new Date(Math.min(person.authenticatedAt_ms, now.getTime()))
  const proof = {
    inCookie: true,
    how: 'openid',
    authenticatedAt,
    openidIssuer: settings.issuer,
    replacedTokenHash: pending.replaces,
    signal: AbortSignal.timeout(SESSION_DEADLINE_MS),
  } as const
  const session = beginSession(ctx, needs, proof, (db) => admitPerson(db, { person, settings, now }))
  if (!(await within(SESSION_DEADLINE_MS, session))) throw unavailable('The session took too long to start.')
}

/** The browser is navigating, so a failure must end on a page too. */
function asRefusal(ctx: ApiContext, error: unknown): SignInRefusal {
  if (error instanceof SignInRefusal) return error
  // Two simultaneous first sign-ins of one person.
  if (sqlState(error) === UNIQUE_VIOLATION) return new SignInRefusal('unavailable', 'at_once')
  const problem = toProblem(error)
  logFailure(ctx, problem, error)
  return new SignInRefusal('unavailable', problem.code === 'internal' ? 'internal' : 'database')
}
