import { type AccessTokens, TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import type { VerifiedToken } from '#shared/access-tokens/verify.ts'
import { Problem } from '#shared/problems/problems.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { RequireAccessToken } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { presentedToken, sentInForm } from './presented-token.ts'

const PROBLEMS = [
  'unauthenticated',
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'forbidden',
  'rate_limited',
  'unavailable',
] as const

/**
 * Judges the access token of a request, asks whether it was revoked, and counts it against its client's limit.
 * @returns what makes the access of one scope. It throws Problem by RFC 6750 §3.1: 401 without a good token, 403 if the
 * token lacks the scope or is for another company; 429 over the limit of its client; 503 if nobody can tell whether it
 * is good.
 */
export function createAccessTokenAccess({
  tokens,
  rateLimit,
}: {
  tokens: AccessTokens
  rateLimit: RateLimit
}): RequireAccessToken {
  async function verified(ctx: ApiContext): Promise<VerifiedToken> {
    const token = await tokens.verify(presentedToken(ctx))
    const { clientId, vendorId } = token
    ctx.state.client = { clientId, vendorId }
    // One wait: both commands are written to Redis before either answer is read. Counting never rejects.
    const [rate] = await Promise.all([rateLimit.consume(clientId), tokens.requireLive(token)])
    // Bypasses Koa's `set`, which costs more than the fields themselves.
    for (const [name, value] of Object.entries(rateLimitHeaders(rate))) ctx.res.setHeader(name, value)
    if (!rate.allowed) throw new Problem('rate_limited', 'This client sends too many requests.')
    if (await sentInForm(ctx)) await tokens.verify({ kind: 'repeated' })
    return token
  }

  return (scope) => ({
    async admit(ctx) {
      try {
        const token = await verified(ctx)
        tokens.requireScope(token, scope)
        tokens.requireCompany(token, ctx.params.vendorId)
        ctx.state.vendorId = token.vendorId
        return token
      } catch (error) {
        if (error instanceof TokenRefused) note(ctx, error)
        throw error
      }
    },
    security: { scheme: 'accessToken', scope },
    problems: PROBLEMS,
  })
}

/** For the company of the client, which may look up why a request was refused. */
function note({ state }: ApiContext, { client, reason, code, scope }: TokenRefused): void {
  if (client) state.client = client
  if (reason !== code) state.refusal = { reason }
  if (scope !== undefined) state.refusal = { reason, about: scope }
}
