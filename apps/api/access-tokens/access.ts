import { type AccessTokens, TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import type { Scope } from '#shared/oauth/scopes.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import type { Access } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem, unavailable } from '../problems/problems.ts'
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

/** The claims of an access token that passed every check. */
export interface AccessTokenState {
  clientId: string
  vendorId: string
  scopes: readonly string[]
}

interface AccessTokenNeeds {
  accessTokens: AccessTokens
  requestsPerClient: RateLimit
  isClockRight: () => boolean
}

/**
 * Admits requests whose access token has `scope` and is for the path's company. It verifies the token, asks
 * whether it was revoked, and counts the request against the client's limit if it was not. It throws a
 * Problem as RFC 6750 §3.1 requires: 401 without a valid token, 403 if the token lacks the scope or is for
 * another company. It also throws 429 above the client's limit, and 503 if the token cannot be checked. With
 * a wrong clock it cannot: if that is behind, an expired token seems live, and its revocation may have been
 * purged.
 * @param prefetch starts a store read while the token is checked, so that a request waits once. It is called
 * only if the token has the scope and is for the company. It may only read, and nothing confidential, since
 * the token may turn out to be revoked. Then its result is dropped.
 */
export const accessToken = <Prefetched = undefined, Needs = unknown>(
  scope: Scope,
  prefetch?: (token: AccessTokenState, needs: Needs) => Promise<Prefetched>,
): Access<AccessTokenState & { prefetched?: Promise<Prefetched> | undefined }, AccessTokenNeeds & Needs> => ({
  async admit(ctx, needs) {
    const { accessTokens: tokens, requestsPerClient, isClockRight } = needs
    try {
      const bearer = presentedToken(ctx)
      if (bearer.kind === 'token' && !isClockRight())
        throw unavailable('We cannot check right now whether this token has expired.')
      const token = await tokens.verify(bearer)
      const { clientId, vendorId } = token
      ctx.state.client = { clientId, vendorId }
      const permitted = token.scopes.includes(scope) && vendorId === ctx.params.vendorId
      const prefetched = permitted ? prefetch?.(token, needs) : undefined
      // If the request is refused, no one reads the result.
      prefetched?.catch(() => {})
      // Both commands go to Redis before either answer is read, so this waits once. Counting never rejects.
      const [rate] = await Promise.all([
        requestsPerClient.consume(clientId),
        tokens.requireLive(token).catch(async (error) => {
          // Else whoever stole a token could lock its client out, even once the token was revoked.
          await requestsPerClient.consume(clientId, -1)
          throw error
        }),
      ])
      ctx.state.fields.push(...Object.entries(rateLimitHeaders(rate)).flat())
      if (!rate.allowed) throw new Problem('rate_limited', 'Too many requests from this client.')
      if (await sentInForm(ctx)) await tokens.verify({ kind: 'repeated' })
      tokens.requireScope(token, scope)
      tokens.requireCompany(token, ctx.params.vendorId)
      ctx.state.vendorId = vendorId
      return { ...token, prefetched }
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error
      recordRefusal(ctx, error)
      throw new Problem(error.code, error.detail, { headers: error.headers })
    }
  },
  security: { scheme: 'accessToken', scope },
  problems: PROBLEMS,
})

/** Records the reason, so that the client's company can look up why the request was refused. */
function recordRefusal({ state }: ApiContext, error: TokenRefused): void {
  const { client, reason, code, revoked = 'client', scope } = error
  if (client) state.client = client
  // Whoever found an expired token, or stole one or a key that was revoked for that, is not the client.
  const proven = reason !== 'expired' && revoked === 'client'
  if (reason !== code) state.refusal = { reason, proven }
  if (scope !== undefined) state.refusal = { reason, about: scope }
}
