import { Problem } from '#shared/problems.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { type RateLimit, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { bearerChallenge } from '../http/bearer.ts'
import { unavailable } from '../http/problem.ts'
import type { RequireAccessToken } from '../http/route.ts'
import type { ApiContext } from '../http/state.ts'
import { presentedToken, sentInForm } from './presented-token.ts'
import type { RefusalReason, VerifiedToken, VerifyToken } from './verify.ts'

/** The description that the caller gets (RFC 6750 §3.1): enough to fix an honest mistake. */
const DESCRIPTIONS: Record<RefusalReason, string> = {
  malformed: 'The token is not a well-formed JWT',
  type: 'The token is not an access token (typ at+jwt)',
  algorithm: 'The token is signed with an algorithm that is not accepted',
  unknown_key: 'The token is signed with an unknown key',
  signature: 'The signature is wrong',
  issuer: 'The token is from another issuer',
  audience: 'The token is for another audience',
  expired: 'The token has expired',
  issued_in_future: 'The token was issued in the future',
  not_yet_valid: 'The token is not valid yet',
  claims: 'The token lacks a claim or has a wrong one',
  lifetime: 'The token is valid for longer than 900 seconds',
  revoked: 'The token, its client or its key was revoked',
}

const PROBLEMS = [
  'unauthenticated',
  'invalid_request',
  'invalid_token',
  'insufficient_scope',
  'forbidden',
  'rate_limited',
  'unavailable',
] as const

export interface AccessTokenDependencies {
  verify: VerifyToken
  revocation: Revocation
  rateLimit: RateLimit
  /** The realm of the challenges. */
  apiResource: string
  /** The URL of the protected-resource metadata (RFC 9728 §5.1). */
  resourceMetadata: string
}

/**
 * Judges the access token of a request, asks whether it was revoked, and counts it against its client's limit.
 * @returns what makes the access of one scope. It throws Problem by RFC 6750 §3.1: 401 without a good token, 403 if the
 * token lacks the scope or is for another company; 429 over the limit of its client; 503 if nobody can tell whether it
 * is good.
 */
export function createAccessTokenAccess({
  verify,
  revocation,
  rateLimit,
  apiResource,
  resourceMetadata,
}: AccessTokenDependencies): RequireAccessToken {
  const challenge = (parameters: Record<string, string> = {}) => ({
    'WWW-Authenticate': bearerChallenge({
      realm: apiResource,
      resource_metadata: resourceMetadata,
      ...parameters,
    }),
  })
  const invalid = (reason: RefusalReason) => {
    const description = DESCRIPTIONS[reason]
    return new Problem('invalid_token', `${description}.`, {
      headers: challenge({ error: 'invalid_token', error_description: description }),
    })
  }

  const repeated = () => {
    const description = 'The token was sent more than once or in more than one way'
    return new Problem('invalid_request', `${description}.`, {
      headers: challenge({ error: 'invalid_request', error_description: description }),
    })
  }

  function tokenOf(ctx: ApiContext): string {
    const bearer = presentedToken(ctx)
    switch (bearer.kind) {
      case 'token':
        return bearer.token
      case 'malformed':
        throw invalid('malformed')
      case 'repeated':
        throw repeated()
      case 'none':
        throw new Problem('unauthenticated', 'Send an access token as Authorization: Bearer.', {
          headers: challenge(),
        })
    }
  }

  async function verified(ctx: ApiContext): Promise<VerifiedToken> {
    const judged = await verify(tokenOf(ctx))
    if (judged.verdict === 'refused') {
      if (judged.client) ctx.state.client = judged.client
      ctx.state.refusal = { reason: judged.reason }
      throw invalid(judged.reason)
    }
    if (judged.verdict === 'undecided')
      throw unavailable('We cannot fetch the key right now that this token is signed with.')
    const { token } = judged
    ctx.state.client = { clientId: token.clientId, vendorId: token.vendorId }
    // One wait; neither rejects. Both commands are written to Redis before either answer is read.
    const asked = revocation.ask({ clientId: token.clientId, jti: token.jti, kid: token.kid })
    const counted = rateLimit.consume(token.clientId)
    const standing = await asked
    const rate = await counted
    if (typeof standing === 'object') {
      ctx.state.refusal = { reason: 'revoked' }
      throw invalid('revoked')
    }
    if (standing === 'undecided')
      throw unavailable('We cannot check right now whether this token was revoked.')
    // Bypasses Koa's `set`, which costs more than the fields themselves.
    for (const [name, value] of Object.entries(rateLimitHeaders(rate))) ctx.res.setHeader(name, value)
    if (!rate.allowed) throw new Problem('rate_limited', 'This client sends too many requests.')
    if (await sentInForm(ctx)) throw repeated()
    return token
  }

  return (scope) => ({
    async admit(ctx) {
      const { clientId, vendorId, scopes } = await verified(ctx)
      if (!scopes.includes(scope)) {
        ctx.state.refusal = { reason: 'insufficient_scope', about: scope }
        throw new Problem('insufficient_scope', `The access token lacks the scope ${scope}.`, {
          headers: challenge({
            error: 'insufficient_scope',
            error_description: 'The token lacks a scope',
            scope,
          }),
        })
      }
      if (vendorId !== ctx.params.vendorId) {
        throw new Problem('forbidden', 'The access token is for another company.')
      }
      ctx.state.vendorId = vendorId
      return { clientId, vendorId, scopes }
    },
    security: { scheme: 'accessToken', scope },
    problems: PROBLEMS,
  })
}
