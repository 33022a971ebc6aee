import { z } from 'zod'
import { hashSecret } from '#shared/oauth/ids.ts'
import { invalidMember } from '../http/input.ts'
import { type Access, route } from '../http/route.ts'
import { unavailable } from '../problems/problems.ts'
import type { SessionCookie } from '../sessions/cookie.ts'
import { countAddress, type SignInLimits } from '../sessions/sign-in-limits.ts'
import { type OpenidNeeds, requireOpenid } from './access.ts'
import type { ConfiguredOpenid } from './provider.ts'
import { logSignInRefusal, SignInRefusal } from './refusal.ts'

const PATH_MAX_CHARACTERS = 1_000

const OpenidStart = z
  .strictObject({
    to: z
      .string('must be a string')
      .max(PATH_MAX_CHARACTERS, `must have at most ${PATH_MAX_CHARACTERS} characters`)
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

interface BeginNeeds extends OpenidNeeds {
  cookie: SessionCookie
  signInLimits: SignInLimits
  /** The workspace's URL. */
  baseUrl: string
}

/** Only a workspace page can send this POST, so no other site can start a sign-in. */
const fromWorkspace: Access<{ configured: ConfiguredOpenid }, BeginNeeds> = {
  async admit(ctx, needs) {
    const caller = await requireOpenid.admit(ctx, needs)
    needs.cookie.requireOwnPage(ctx)
    return caller
  },
  problems: requireOpenid.problems,
}

export const beginOpenidSignInRoute = route({
  method: 'post',
  path: '/v1/session/openid',
  // It waits for the OpenID provider.
  deadline: 'own',
  operationId: 'beginOpenidSignIn',
  tag: 'Session',
  summary: 'Start sign-in with the OpenID provider',
  description:
    'For the workspace. The browser gets a cookie and opens the returned URL; the provider redirects it back.',
  access: fromWorkspace,
  body: OpenidStart,
  answers: {
    201: { description: 'Started.', schema: StartedOpenid, headers: ['Set-Cookie'] },
  },
  problems: ['forbidden', 'rate_limited', 'unavailable'],
  async handle(
    { configured: { settings, provider, pendingSignIns }, body },
    { cookie, signInLimits, baseUrl }: BeginNeeds,
    ctx,
  ) {
    const to = workspacePage(body.to, baseUrl)
    if (to === undefined) throw invalidMember('/to', 'must be the path of a workspace page')
    await countAddress(ctx, signInLimits)
    const sessionToken = cookie.read(ctx)
    const replaces = sessionToken && hashSecret(sessionToken).toString('base64url')
    const pending = pendingSignIns.create({ to, fresh: body.fresh, replaces })
    const url = await provider.authorizationUrl(pending).catch((error: unknown) => {
      if (!(error instanceof SignInRefusal)) throw error
      logSignInRefusal(ctx, error)
      throw unavailable(`Signing in with ${settings.name} is not possible right now.`)
    })
    await pendingSignIns.save(ctx, pending)
    return { authorizationUrl: url.href }
  },
})

/** Returns the path and query as a browser requests them; undefined unless it is a workspace page. */
function workspacePage(text: string, baseUrl: string): string | undefined {
  const url = text.startsWith('/') ? URL.parse(text, baseUrl) : null
  if (url?.origin !== baseUrl || url.pathname.startsWith('//') || url.pathname.startsWith('/v1/'))
    return undefined
  return url.pathname + url.search
}
