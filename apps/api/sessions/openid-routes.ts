import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import { Problem, unavailable } from '#shared/problems/problems.ts'
import { within } from '#shared/process/within.ts'
import { sqlState, UNIQUE_VIOLATION } from '#shared/stores/postgres-errors.ts'
import { asProblem, logFailure } from '../http/problem.ts'
import { type Access, anyone, type Route, route } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { beginSession } from './begin.ts'
import type { SessionDependencies } from './dependencies.ts'
import { admitClaimed, claimedPerson } from './openid-person.ts'
import { CALLBACK_PATH, type ConfiguredOpenid } from './openid-provider.ts'
import { OPENID_REFUSALS, OpenidRefusal } from './openid-refusal.ts'
import type { OpenidTransaction } from './openid-transaction.ts'
import { countAddress } from './sign-in-limits.ts'

const PATH_MAX_CHARACTERS = 1_000
/** For the steps after the provider's answer. */
const SESSION_DEADLINE_MS = 8_000

export const createOpenidRoutes = (deps: SessionDependencies): Route[] => [
  getSignInMethods(deps),
  postOpenid(deps),
  getCallback(deps),
]

const SignInMethods = z
  .object({
    builtInAccounts: z
      .boolean()
      .meta({ description: 'Whether `POST /v1/session` accepts email and password.' }),
    openid: z
      .object({ name: z.string() })
      .meta({ id: 'SignInProvider' })
      .nullable()
      .meta({ description: 'The OpenID provider for signing in, if there is one.' }),
  })
  .meta({ id: 'SignInMethods' })

const getSignInMethods = ({ openid, builtInAccounts }: SessionDependencies): Route =>
  route({
    method: 'get',
    path: '/v1/sign-in',
    operationId: 'readSignInMethods',
    tag: 'Session',
    summary: 'List the sign-in methods',
    description: 'For the sign-in page.',
    by: anyone,
    answers: { 200: { description: 'The sign-in methods.', schema: SignInMethods } },
    handle: async () => ({ builtInAccounts, openid: openid ? { name: openid.settings.name } : null }),
  })

/** Admits anyone whom `check` does not refuse, where a provider is configured. */
const requireOpenid = (
  configured: ConfiguredOpenid | undefined,
  check: (ctx: ApiContext) => void = () => {},
): Access<{ configured: ConfiguredOpenid }> => ({
  async admit(ctx) {
    if (!configured) throw new Problem('not_found', 'No OpenID provider is configured here.')
    check(ctx)
    return { configured }
  },
  problems: ['not_found'],
})

/** Returns the path and query as a browser would request them; undefined for anything but a workspace page. */
function pageOf(text: string, baseUrl: string): string | undefined {
  const url = text.startsWith('/') ? URL.parse(text, baseUrl) : null
  if (url?.origin !== baseUrl || url.pathname.startsWith('//') || url.pathname.startsWith('/v1/'))
    return undefined
  return url.pathname + url.search
}

const OpenidStart = (baseUrl: string) =>
  z
    .strictObject({
      to: z
        .string('must be a string')
        .max(PATH_MAX_CHARACTERS, `must have at most ${PATH_MAX_CHARACTERS} characters`)
        .refine((text) => pageOf(text, baseUrl) !== undefined, 'must be the path of a workspace page')
        .default('/')
        .meta({ description: 'The workspace page to open afterwards.', examples: ['/ven_acme/activity'] }),
      fresh: z.boolean('must be true or false').default(false).meta({
        description:
          'true: sign in again, even if signed in at the provider. Handing over a company requires it.',
      }),
    })
    .meta({ id: 'OpenidStart' })

const StartedOpenid = z
  .object({ authorizationUrl: z.string().meta({ format: 'uri', description: 'At the provider.' }) })
  .meta({ id: 'StartedOpenid' })

/** Only a workspace page can send this POST, so no other site can start a sign-in. */
const postOpenid = ({ cookie, limits, baseUrl, openid }: SessionDependencies): Route =>
  route({
    method: 'post',
    path: '/v1/session/openid',
    // It waits for the OpenID provider, like the next route.
    deadline: 'own',
    operationId: 'beginOpenidSignIn',
    tag: 'Session',
    summary: 'Start sign-in with the OpenID provider',
    description:
      'For the workspace. The browser gets a cookie and opens the returned URL; the provider redirects it back.',
    by: requireOpenid(openid, cookie.requireOwnPage),
    body: OpenidStart(baseUrl),
    answers: {
      201: {
        description: 'Started.',
        schema: StartedOpenid,
        headers: ['Set-Cookie'],
      },
    },
    problems: ['forbidden', 'rate_limited', 'unavailable'],
    async handle({ configured: { settings, provider, transactions }, body: { to, fresh } }, ctx) {
      await countAddress(ctx, limits)
      const sessionToken = cookie.read(ctx)
      const replaces = sessionToken && hashSecret(sessionToken).toString('base64url')
      const transaction = transactions.begin({ to: pageOf(to, baseUrl) ?? '/', fresh, replaces })
      const url = await provider.authorizationUrl(transaction).catch((error: unknown) => {
        if (!(error instanceof OpenidRefusal)) throw error
        noteRefusal(ctx, error)
        throw unavailable(`Signing in with ${settings.name} is not possible right now.`)
      })
      await transactions.keep(ctx, transaction)
      return { authorizationUrl: url.href }
    },
  })

const getCallback = (deps: SessionDependencies): Route =>
  route({
    method: 'get',
    path: CALLBACK_PATH,
    deadline: 'own',
    operationId: 'finishOpenidSignIn',
    tag: 'Session',
    summary: 'OpenID Connect redirect URI',
    description:
      'Takes the query of an authorization response (RFC 6749 §4.1.2, RFC 9207). Redirects to the workspace, signed in or not, with the outcome in the fragment.',
    by: requireOpenid(deps.openid),
    answers: {
      303: {
        description: `To the workspace. The fragment is \`#sign-in=done\`, or the reason: ${OPENID_REFUSALS.join(', ')}.`,
        headers: ['Location', 'Set-Cookie'],
      },
    },
    async handle({ configured }, ctx) {
      const { transactions } = configured
      // Not validated like other queries: the browser must always reach a page.
      const state = new URLSearchParams(ctx.querystring).get('state')
      let transaction: OpenidTransaction | undefined
      let outcome = 'done'
      try {
        const stored = await transactions.read(ctx)
        // A different state belongs to another browser, or to an earlier try.
        transaction = stored?.state === state ? stored : undefined
        if (!transaction || !(await isFirst(deps, transaction))) throw new OpenidRefusal('expired')
        await finish(ctx, deps, configured, transaction)
      } catch (error) {
        const refusal = asRefusal(ctx, error)
        noteRefusal(ctx, refusal)
        outcome = refusal.reason
      }
      // Otherwise any site could cancel a sign-in in progress.
      if (transaction) transactions.clear(ctx)
      ctx.set('Location', `${deps.baseUrl}${transaction?.to ?? '/'}#sign-in=${outcome}`)
      ctx.body = ''
      return undefined
    },
  })

const isFirst = async ({ openidOnce }: SessionDependencies, { state }: OpenidTransaction) =>
  (await openidOnce.consume(hashSecret(state).toString('base64url'))).allowed

async function finish(
  ctx: ApiContext,
  deps: SessionDependencies,
  { settings, provider }: ConfiguredOpenid,
  transaction: OpenidTransaction,
): Promise<void> {
  const { clientAddress: address } = ctx.state.request
  const claimed = claimedPerson(await provider.claims(ctx.querystring, transaction, { address }), settings)
  const now = new Date(deps.clock.now())
  const authenticatedAt = new Date(Math.min(claimed.authenticatedAt_ms, now.getTime()))
  const how = {
    inCookie: true,
    how: 'openid',
    authenticatedAt,
    openidIssuer: settings.issuer,
    replaces: transaction.replaces,
  } as const
  const session = beginSession(ctx, deps, how, (db) => admitClaimed(db, { claimed, settings, now }))
  if (!(await within(SESSION_DEADLINE_MS, session))) throw unavailable('The session took too long to start.')
}

/** The browser is navigating, so a failure must end on a page too. */
function asRefusal(ctx: ApiContext, error: unknown): OpenidRefusal {
  if (error instanceof OpenidRefusal) return error
  // Two simultaneous first sign-ins of one person.
  if (sqlState(error) === UNIQUE_VIOLATION) return new OpenidRefusal('unavailable', 'at_once')
  const problem = asProblem(error)
  if (problem.code !== 'unavailable') throw error
  logFailure(ctx, problem, error)
  return new OpenidRefusal('unavailable', 'database')
}

function noteRefusal(ctx: ApiContext, { reason, about }: OpenidRefusal): void {
  const { clientAddress } = ctx.state.request
  ctx.state.log.info({ event: 'sign_in.failed', clientAddress, reason, about }, 'sign-in failed')
}
