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
 * Returns a factory of access checks, one per scope. A check verifies the request's access token, asks whether it was
 * revoked, and counts the request against the client's limit. It throws a Problem as RFC 6750 §3.1 requires: 401 without
 * a valid token, 403 if the token lacks the scope or is for another company. It also throws 429 above the client's
 * limit, and 503 if the token cannot be checked. Only a token that could admit the request asks anything early.
 */
export function createAccessTokenAccess(tokens: AccessTokens, rateLimit: RateLimit): RequireAccessToken {
  /** Resolves once the stores allow the request. */
  async function requireAllowed(ctx: ApiContext, token: VerifiedToken): Promise<void> {
    // Both commands are written to Redis before either answer is read, so this waits once. Counting never rejects.
    const [rate] = await Promise.all([rateLimit.consume(token.clientId), tokens.requireLive(token)])
    ctx.state.fields.push(...Object.entries(rateLimitHeaders(rate)).flat())
    if (!rate.allowed) throw new Problem('rate_limited', 'Too many requests from this client.')
    if (await sentInForm(ctx)) await tokens.verify({ kind: 'repeated' })
  }

  return (scope, askEarly) => ({
    async admit(ctx) {
      try {
        const token = await tokens.verify(presentedToken(ctx))
        const { clientId, vendorId } = token
        ctx.state.client = { clientId, vendorId }
        const permitted = token.scopes.includes(scope) && vendorId === ctx.params.vendorId
        const early = permitted ? askEarly?.(token) : undefined
        // If the request is refused, no one reads the answer.
        early?.catch(() => {})
        await requireAllowed(ctx, token)
        tokens.requireScope(token, scope)
        tokens.requireCompany(token, ctx.params.vendorId)
        ctx.state.vendorId = vendorId
        return { ...token, early }
      } catch (error) {
        if (!(error instanceof TokenRefused)) throw error
        note(ctx, error)
        throw new Problem(error.code, error.detail, { headers: error.headers })
      }
    },
    security: { scheme: 'accessToken', scope },
    problems: PROBLEMS,
  })
}

/** Records the reason, so that the client's company can look up why the request was refused. */
function note({ state }: ApiContext, { client, reason, code, scope }: TokenRefused): void {
  if (client) state.client = client
  if (reason !== code) state.refusal = { reason }
  if (scope !== undefined) state.refusal = { reason, about: scope }
}
