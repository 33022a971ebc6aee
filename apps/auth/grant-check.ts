import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Client, Provider } from 'oidc-provider'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { OAuthRefusal } from './http.ts'

/** Everything that a verdict depends on and that oidc-provider sees. The client is already authenticated. */
export interface GrantRequest {
  /** The client's scopes. */
  readonly assigned: readonly Scope[]
  readonly grantType: string
  /** Empty when none was sent. */
  readonly scope: string
  /** The resource indicator (RFC 8707), or the API's identifier if none was sent. */
  readonly resource: string
}

/**
 * Checks a client-credentials token request (RFC 6749 §4.4). Returns oidc-provider's client if a token with
 * exactly this scope may be issued, otherwise the refusal. Throws an Error if oidc-provider fails.
 */
export type GrantCheck = (request: GrantRequest) => Promise<Client | OAuthRefusal>

/** Enough for all 3⁵ − 2⁵ = 211 that can be granted: each non-empty subset of each set of the five scopes. */
const GRANTS_MAX = 2_000

/**
 * Caches grants by assigned scopes, grant type, scope and resource, whatever order the scopes are in.
 * Refusals are not cached, because there is no bound on what can be refused.
 */
export function cacheGrants(check: GrantCheck): GrantCheck {
  const grants = new Map<string, Client>()
  return async (request) => {
    const { assigned, grantType, scope, resource } = request
    const cacheKey = JSON.stringify([sortScopes(assigned), grantType, sortScopes(scope.split(' ')), resource])
    const client = grants.get(cacheKey)
    if (client) return client
    const verdict = await check(request)
    if (!(verdict instanceof OAuthRefusal) && grants.size < GRANTS_MAX) grants.set(cacheKey, verdict)
    return verdict
  }
}

const sortScopes = (names: readonly string[]): string => [...names].sort().join(' ')

/** In oidc-provider, all clients with the same scopes are one client, whose id names the scopes. */
const CLIENT_PREFIX = 'client with '
export const scopesFromClientId = (id: string): string => id.slice(CLIENT_PREFIX.length)

/** Checks each request at oidc-provider's token endpoint. */
export function createGrantCheck(provider: Provider): GrantCheck {
  const handle = provider.callback()
  return async (request) => {
    const { assigned, grantType, scope, resource } = request
    const clientId = CLIENT_PREFIX + sortScopes(assigned)
    const tokenRequest = createTokenRequest({ grant_type: grantType, client_id: clientId, scope, resource })
    const response = new TokenResponse(tokenRequest)
    await handle(tokenRequest, response)
    const body: { scope?: string; error?: string } = JSON.parse(response.body)
    if (response.statusCode !== 200) return createRefusal(body.error, request)
    // oidc-provider drops unknown and repeated scopes. Here a request is granted whole or not at all.
    if (body.scope !== scope) return createRefusal('invalid_scope', request)
    return (await provider.Client.find(clientId)) as Client
  }
}

/**
 * Returns a request with these fields and nothing else that the caller sent. The caller's body is parsed only
 * once, by us, and its headers (Host, Origin, Accept) cannot matter.
 */
function createTokenRequest(fields: Record<string, string>): IncomingMessage {
  const body = Buffer.from(new URLSearchParams(fields).toString())
  const request = new IncomingMessage(new Socket())
  request.method = 'POST'
  request.url = '/token'
  request.headers['content-type'] = 'application/x-www-form-urlencoded'
  request.headers['content-length'] = String(body.length)
  request.push(body)
  request.push(null)
  return request
}

class TokenResponse extends ServerResponse {
  body = ''

  override end(body?: unknown): this {
    this.body = String(body)
    return super.end()
  }
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  unsupported_grant_type: 'grant_type must be client_credentials',
  invalid_scope: 'scope must name scopes of this client, each once, separated by single spaces',
  invalid_target: 'resource must be the identifier of the API, or be left out',
}

function createRefusal(error: string | undefined, { scope, assigned }: GrantRequest): OAuthRefusal {
  const description = error && DESCRIPTIONS[error]
  if (!description) throw new Error(`oidc-provider answered ${error ?? 'nothing'}`)
  const names = scope.split(' ')
  const missing = SCOPES.filter((name) => names.includes(name) && !assigned.includes(name)).join(', ')
  const about = (error === 'invalid_scope' && missing) || undefined
  return new OAuthRefusal({ status: 400, error, description, reason: error, about })
}
