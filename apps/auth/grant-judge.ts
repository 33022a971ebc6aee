import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Client, Provider } from 'oidc-provider'
import { SCOPES, type Scope } from '#shared/oauth/scopes.ts'
import { Refusal } from './refusal.ts'

/** What a verdict depends on, and all that oidc-provider gets to see. Whose request it is was decided before. */
export interface GrantRequest {
  readonly assigned: readonly Scope[]
  readonly grantType: string
  /** Empty when none was sent. */
  readonly scope: string
  /** The resource indicator (RFC 8707): the API's identifier where none was sent. */
  readonly resource: string
}

/**
 * Judges a client-credentials token request (RFC 6749 §4.4). Returns the refusal, or oidc-provider's client when a
 * token with exactly this scope may be issued. Throws an Error when oidc-provider fails in a way that no request should
 * cause.
 */
export type GrantJudge = (request: GrantRequest) => Promise<Client | Refusal>

/** More than the 211 distinct requests that can be granted: a set of assigned scopes, and some of them. */
const VERDICTS_MAX = 2_000

/**
 * A judge that asks another once for each combination of assigned scopes, grant type, scopes and resource, whatever
 * order the scopes are in. Only consent is remembered: requests that fail are unbounded.
 */
export function createRememberingJudge(judge: GrantJudge): GrantJudge {
  const granted = new Map<string, Client>()
  return async (request) => {
    const { assigned, grantType, scope, resource } = request
    const asked = JSON.stringify([inOrder(assigned), grantType, inOrder(scope.split(' ')), resource])
    const known = granted.get(asked)
    if (known) return known
    const verdict = await judge(request)
    if (!(verdict instanceof Refusal) && granted.size < VERDICTS_MAX) granted.set(asked, verdict)
    return verdict
  }
}

const inOrder = (names: readonly string[]): string => [...names].sort().join(' ')

/** oidc-provider's id for every client that has just these scopes. */
const CLIENT_PREFIX = 'client with '
const clientWith = (scopes: readonly Scope[]): string => CLIENT_PREFIX + inOrder(scopes)
/** Returns the scopes of such an id, separated by spaces. */
export const scopesOfClient = (id: string): string => id.slice(CLIENT_PREFIX.length)

/** A judge that puts each request to the token endpoint of oidc-provider. */
export function createGrantJudge(provider: Provider): GrantJudge {
  const answer = provider.callback()
  return async (request) => {
    const { assigned, grantType, scope, resource } = request
    const clientId = clientWith(assigned)
    const asked = tokenRequest({ grant_type: grantType, client_id: clientId, scope, resource })
    const response = new TokenResponse(asked)
    await answer(asked, response)
    const body: { scope?: string; error?: string } = JSON.parse(response.body)
    if (response.statusCode !== 200) return refusalFor(body.error, request)
    // oidc-provider drops unknown and repeated scopes. Here it is all or nothing.
    if (body.scope !== scope) return refusalFor('invalid_scope', request)
    return (await provider.Client.find(clientId)) as Client
  }
}

/**
 * The request that oidc-provider is given: these fields and nothing else that a caller sent, so that there is one
 * reading of each request, and no other header (Host, Origin, Accept) counts.
 */
function tokenRequest(fields: Record<string, string>): IncomingMessage {
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

function refusalFor(error: string | undefined, { scope, assigned }: GrantRequest): Refusal {
  const description = error && DESCRIPTIONS[error]
  if (!description) throw new Error(`oidc-provider answered ${error ?? 'nothing'}`)
  const names = scope.split(' ')
  const lacking = SCOPES.filter((one) => names.includes(one) && !assigned.includes(one)).join(', ')
  const about = (error === 'invalid_scope' && lacking) || undefined
  return new Refusal({ status: 400, error, description, reason: error, about })
}
