import { type Bearer, bearerChallenge, type IncomingRequest, readBearer } from './bearer.ts'
import { rememberVerified } from './remembered.ts'
import type { RevocationFeed } from './revocation-feed.ts'
import type { SigningKeys } from './signing-keys.ts'
import {
  createTokenVerification,
  DESCRIPTIONS,
  type RefusalReason,
  type TokenClient,
  type VerifiedToken,
} from './verify.ts'

const STATUSES = {
  invalid_request: 400,
  unauthenticated: 401,
  invalid_token: 401,
  insufficient_scope: 403,
  forbidden: 403,
  unavailable: 503,
} as const

export type RefusalCode = keyof typeof STATUSES

const RETRY_AFTER_S = 2

/** Why a token does not admit a request, and the answer to send: `status`, `headers` and `detail`. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused'
  readonly code: RefusalCode
  readonly status: (typeof STATUSES)[RefusalCode]
  /** One sentence for the person who reads the answer. */
  readonly detail: string
  /** The challenge (RFC 6750 §3) as `WWW-Authenticate`; `Retry-After` with a 503. */
  readonly headers: Readonly<Record<string, string>>
  /** More exact than the code, if there is more to say. */
  readonly reason: RefusalReason | RefusalCode
  /** Whose token it is, if its signature was right. */
  readonly client: TokenClient | undefined
  /** What was revoked, if that is the reason. */
  readonly revoked: 'client' | 'key' | 'token' | undefined
  /** The scope that the token lacks. */
  readonly scope: string | undefined

  constructor(
    code: RefusalCode,
    detail: string,
    about: Partial<Pick<TokenRefused, 'headers' | 'reason' | 'client' | 'revoked' | 'scope'>> = {},
  ) {
    const { headers = {}, reason = code, client, revoked, scope } = about
    super(detail)
    this.code = code
    this.status = STATUSES[code]
    this.detail = detail
    this.headers = headers
    this.reason = reason
    this.client = client
    this.revoked = revoked
    this.scope = scope
  }
}

/** What decides whether an access token admits a request: `admit`, or the four steps of which it consists. */
export interface AccessTokens {
  /**
   * Takes all four steps for the token in the request's Authorization header. Returns the token of a request
   * that may use this scope for this company. Call it for each request and never remember its answer.
   * @throws TokenRefused by the first step that fails.
   */
  admit(
    request: IncomingRequest,
    required: { scope: string; vendorId: string | undefined },
  ): Promise<VerifiedToken>
  /**
   * Checks the token by RFC 9068 §4, except whether it was revoked.
   * @throws TokenRefused 401, or 400 when it was sent twice, or 503 while its key cannot be fetched.
   */
  verify(bearer: Bearer): Promise<VerifiedToken>
  /**
   * Asks whether the token, its client or its key was revoked. Ask for each request; never cache the answer.
   * @throws TokenRefused 401, or 503 when that cannot be decided.
   */
  requireLive(token: VerifiedToken): Promise<void>
  /** @throws TokenRefused 403 insufficient_scope. */
  requireScope(token: VerifiedToken, scope: string): void
  /** @throws TokenRefused 403 when the token is for another company. */
  requireCompany(token: VerifiedToken, vendorId: string | undefined): void
}

export interface AccessTokenOptions {
  keys: SigningKeys
  /** The authorization server's `issuer` (RFC 8414 §2). */
  issuer: string
  /** The identifier that tokens name as their audience; it is also the realm of the challenges. */
  resource: string
  /** The URL of the protected-resource metadata (RFC 9728 §5.1), if there is any. */
  resourceMetadata?: string
  /** A feed (revocation-feed.ts), or anything else that knows. Any answer but `live` refuses. */
  revocation: Pick<RevocationFeed, 'ask'>
  clock?: { now(): number }
}

const unavailable = (detail: string) =>
  new TokenRefused('unavailable', detail, { headers: { 'Retry-After': String(RETRY_AFTER_S) } })

/** Checks access tokens of the authorization server, for any service of the company. */
export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  const { keys, issuer, resource, resourceMetadata, revocation, clock = Date } = options
  const verifyToken = rememberVerified({
    verify: createTokenVerification({ keys, issuer, audience: resource, clock }),
    keys,
    clock,
  })
  const challenge = (parameters: Record<string, string> = {}) => ({
    'WWW-Authenticate': bearerChallenge({
      realm: resource,
      resource_metadata: resourceMetadata,
      ...parameters,
    }),
  })
  const invalid = (reason: RefusalReason, client?: TokenClient, revoked?: TokenRefused['revoked']) => {
    const description = DESCRIPTIONS[reason]
    const error = { error: 'invalid_token', error_description: description }
    const about = { headers: challenge(error), reason, client, revoked }
    return new TokenRefused('invalid_token', `${description}.`, about)
  }

  function requireToken(bearer: Bearer): string {
    switch (bearer.kind) {
      case 'token':
        return bearer.token
      case 'malformed':
        throw invalid('malformed')
      case 'repeated': {
        const description = 'The token was sent more than once or in more than one way'
        const error = { error: 'invalid_request', error_description: description }
        throw new TokenRefused('invalid_request', `${description}.`, { headers: challenge(error) })
      }
      case 'none':
        throw new TokenRefused('unauthenticated', 'Send an access token as Authorization: Bearer.', {
          headers: challenge(),
        })
    }
  }

  const tokens: AccessTokens = {
    async admit(request, { scope, vendorId }) {
      const token = await tokens.verify(readBearer(request))
      await tokens.requireLive(token)
      tokens.requireScope(token, scope)
      tokens.requireCompany(token, vendorId)
      return token
    },
    async verify(bearer) {
      const result = await verifyToken(requireToken(bearer))
      if (result.verdict === 'refused') throw invalid(result.reason, result.client)
      if (result.verdict === 'undecided')
        throw unavailable("We cannot fetch this token's signing key right now.")
      return result.token
    },
    async requireLive({ clientId, vendorId, jti, kid }) {
      const standing = await revocation.ask({ clientId, jti, kid })
      if (typeof standing === 'object') {
        if (standing.revoked === 'key') keys.revoked(kid)
        throw invalid('revoked', { clientId, vendorId }, standing.revoked)
      }
      // Only this word grants access, whatever else a source of revocations may return.
      if (standing !== 'live') throw unavailable('We cannot check right now whether this token was revoked.')
    },
    requireScope({ scopes }, scope) {
      if (scopes.includes(scope)) return
      const description = 'The token lacks a required scope'
      const error = { error: 'insufficient_scope', error_description: description, scope }
      const about = { headers: challenge(error), scope }
      throw new TokenRefused('insufficient_scope', `The access token lacks the scope ${scope}.`, about)
    },
    requireCompany(token, vendorId) {
      if (token.vendorId !== vendorId)
        throw new TokenRefused('forbidden', 'The access token is for another company.')
    },
  }
  return tokens
}
