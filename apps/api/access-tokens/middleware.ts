import { setImmediate as turnEnds } from 'node:timers/promises'
import { koaBody } from 'koa-body'
import { Problem } from '#shared/problems.ts'
import type { Revocation } from '#shared/revocation/revocation.ts'
import { type RateLimit, type RateLimitVerdict, rateLimitHeaders } from '#shared/stores/rate-limit.ts'
import { bearerChallenge, bearerOf } from '../http/bearer.ts'
import { documented } from '../http/documented.ts'
import { unavailable } from '../http/problem.ts'
import type { ApiContext, ApiMiddleware, RequireAccessToken } from '../http/state.ts'
import type { RefusalReason, VerifiedToken, VerifyToken } from './verify.ts'

/** What the caller is told (RFC 6750 §3.1): enough to mend an honest mistake. */
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
  revoked: 'The token, its client or its key was revoked',
}

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
 * Judges the access token of a request, asks whether it was revoked, counts it against its client's limit, and
 * leaves it in `ctx.state.accessToken`.
 * @throws Problem by RFC 6750 §3.1: 401 without a good token, 403 when it lacks the scope or is another company's;
 * 429 over the limit of its client, or of its address's forged tokens.
 */
export function createAccessTokenMiddleware({
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

  async function presentedToken(ctx: ApiContext): Promise<string> {
    const bearer = bearerOf(ctx.req)
    if (bearer.kind === 'none') {
      throw new Problem('unauthenticated', 'Send an access token as Authorization: Bearer.', {
        headers: challenge(),
      })
    }
    if (bearer.kind === 'repeated' || sentInQuery(ctx) || (mayHaveForm(ctx) && (await sentInForm(ctx)))) {
      const description = 'The token was sent more than once or in more than one way'
      throw new Problem('invalid_request', `${description}.`, {
        headers: challenge({ error: 'invalid_request', error_description: description }),
      })
    }
    if (bearer.kind === 'malformed') throw invalid('malformed')
    return bearer.token
  }

  async function verified(ctx: ApiContext): Promise<VerifiedToken> {
    const judged = await verify(await presentedToken(ctx), ctx.state.request.clientAddress)
    if (judged.verdict === 'refused') throw invalid(judged.reason)
    if (judged.verdict === 'limited') {
      // Answered together with the others of its turn: a write that wakes its reader takes several times as long as
      // the next one, and a flood would pay for that each time.
      await turnEnds()
      throw tooManyForged(judged.rate)
    }
    if (judged.verdict === 'undecided') throw unavailable('The signing keys are not known right now.')
    const { token } = judged
    // One wait, and neither rejects: both commands are written to Redis before either answer is read.
    const asked = revocation.ask({ clientId: token.clientId, jti: token.jti, kid: token.kid })
    const counted = rateLimit.consume(token.clientId)
    const standing = await asked
    const rate = await counted
    if (typeof standing === 'object') throw invalid('revoked')
    if (standing === 'undecided') throw unavailable('Whether the token was revoked cannot be told right now.')
    // Past Koa's `set`, which costs more than the fields themselves.
    for (const [name, value] of Object.entries(rateLimitHeaders(rate))) ctx.res.setHeader(name, value)
    if (!rate.allowed) throw new Problem('rate_limited', 'This client sends too many requests.')
    return token
  }

  return (scope) => {
    const middleware: ApiMiddleware = async (ctx, next) => {
      const { clientId, vendorId, scopes } = await verified(ctx)
      if (!scopes.includes(scope)) {
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
      ctx.state.accessToken = { clientId, vendorId, scopes }
      ctx.state.vendorId = vendorId
      return next()
    }
    return documented(middleware, {
      security: { scheme: 'accessToken', scope },
      problems: [
        'unauthenticated',
        'invalid_request',
        'invalid_token',
        'insufficient_scope',
        'forbidden',
        'rate_limited',
        'unavailable',
      ],
    })
  }
}

const tooManyForged = (rate: RateLimitVerdict): Problem =>
  new Problem('rate_limited', 'Too many tokens with a wrong signature came from this address.', {
    headers: rateLimitHeaders(rate),
  })

const FORM_LIMIT_BYTES = 8 * 1_024
const readForm = koaBody({
  urlencoded: true,
  formLimit: FORM_LIMIT_BYTES,
  json: false,
  text: false,
  multipart: false,
  // A form that cannot be read is refused later, for its media type.
  onError: () => {},
})

/*
 * Whether the token is in the query or in a form as well (RFC 6750 §2.2, §2.3), which §2 forbids. Only the header is
 * ever taken as the token.
 */
const sentInQuery = ({ querystring }: ApiContext): boolean =>
  querystring !== '' && new URLSearchParams(querystring).has('access_token')

const mayHaveForm = (ctx: ApiContext): boolean =>
  ctx.method !== 'GET' && ctx.method !== 'HEAD' && Boolean(ctx.is('application/x-www-form-urlencoded'))

async function sentInForm(ctx: ApiContext): Promise<boolean> {
  await readForm(ctx as never, async () => {})
  const form = (ctx.request as { body?: unknown }).body
  return typeof form === 'object' && form !== null && 'access_token' in form
}
