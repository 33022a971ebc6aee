import { generateKeyPairSync } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Provider, { type Client, type Configuration, errors } from 'oidc-provider'
import type { Scope } from '#shared/oauth/scopes.ts'
import { ACCESS_TOKEN_LIFE_S } from './access-token.ts'
import { invalidRequest, Refusal } from './refusal.ts'
import { areAssigned, scopesLacking } from './scope.ts'

/** What a verdict depends on, and all that oidc-provider gets to see. Whose request it is was decided before. */
export interface GrantRequest {
  /** The scopes that the client has. */
  readonly assigned: readonly Scope[]
  readonly grantType: string
  /** Empty when none was sent. */
  readonly scope: string
  /** The resource indicator (RFC 8707): the API's identifier where none was sent. */
  readonly resource: string
}

/**
 * Judges a client-credentials token request (RFC 6749 §4.4).
 * @returns the refusal, or undefined when the client may have a token with exactly this scope.
 * @throws Error when oidc-provider fails in a way that no request should cause.
 */
export type GrantJudge = (request: GrantRequest) => Promise<Refusal | undefined>

/** More than the 1,680 ways to be granted something: some of the assigned scopes in some order, and the resource. */
const VERDICTS_MAX = 2_000

/**
 * A judge that asks another once for each combination of assigned scopes, grant type, scope and resource. Only consent
 * is remembered: there is an end to what can be granted, but none to what can be asked for.
 */
export function createRememberingJudge(judge: GrantJudge): GrantJudge {
  const granted = new Set<string>()
  return async (request) => {
    const { assigned, grantType, scope, resource } = request
    const asked = JSON.stringify([[...assigned].sort(), grantType, scope, resource])
    if (granted.has(asked)) return undefined
    const refusal = await judge(request)
    if (!refusal && granted.size < VERDICTS_MAX) granted.add(asked)
    return refusal
  }
}

/** Stands in for the authenticated client, whose id goes no further. */
const CLIENT = { client_id: 'authenticated' }
/** Where oidc-provider has its token endpoint. */
const TOKEN_PATH = '/token'
/** What oidc-provider returns in place of a token. */
const GRANTED = 'granted'
/** A socket without a connection. */
const NOWHERE = new Socket()

/**
 * The request that oidc-provider is given: the fields above and nothing else that a caller sent, so that there is one
 * reading of each request, and no other header (Host, Origin, Accept) counts.
 */
class JudgedRequest extends IncomingMessage {
  readonly grant: GrantRequest

  constructor(grant: GrantRequest) {
    super(NOWHERE)
    this.grant = grant
    const fields = {
      grant_type: grant.grantType,
      ...CLIENT,
      scope: grant.scope,
      resource: grant.resource,
    }
    const body = Buffer.from(new URLSearchParams(fields).toString())
    this.method = 'POST'
    this.url = TOKEN_PATH
    this.headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(body.length),
    }
    // Read in place of the socket.
    this.iterator = () => [body] as never
  }
}

/** The request that oidc-provider is currently judging. */
function current(): GrantRequest {
  const request: unknown = Provider.ctx?.req
  if (request instanceof JudgedRequest) return request.grant
  throw new Error('oidc-provider ran a hook outside of a request')
}

/** oidc-provider set up to judge client-credentials token requests, and to do nothing else. */
export function createGrantJudge({ issuer, resource }: { issuer: string; resource: string }): GrantJudge {
  const provider = new Provider(issuer, configuration(resource))
  const client = Reflect.construct(provider.Client, [CLIENT]) as Client
  provider.Client.find = async () => client
  // The last step before oidc-provider would sign a token.
  provider.ClientCredentials.prototype.save = async () => GRANTED
  // Koa's own callback would answer on a socket; this runs the Provider's one middleware.
  const [run] = provider.middleware
  if (!run || provider.middleware.length !== 1)
    throw new Error('oidc-provider is not one middleware any more')

  return async (request) => {
    const judged = new JudgedRequest(request)
    // Nothing is sent: status and body are read from Koa's context.
    const context = provider.createContext(judged, new ServerResponse(judged))
    await run(context as never, async () => {})
    const body = context.body as { access_token?: string; scope?: string; error?: string } | undefined
    if (context.status !== 200) return refusalFor(body?.error, request)
    if (body?.access_token !== GRANTED || body.scope !== request.scope)
      throw new Error('oidc-provider grants something other than what was asked and checked')
    return undefined
  }
}

/** Only what a judgement depends on: no request reaches the other endpoints of oidc-provider. */
function configuration(resource: string): Configuration {
  return {
    // There is one client, and JWT access tokens are not kept.
    adapter: () => {
      throw new Error('oidc-provider asked for storage that it has no use for')
    },
    jwks: { keys: [throwAwayKey()] },
    responseTypes: [],
    // The default, offline_access, would allow the grant type refresh_token.
    scopes: [],
    ttl: { ClientCredentials: ACCESS_TOKEN_LIFE_S },
    // Authentication has taken place: no secret comes this far.
    clientAuthMethods: ['none'],
    clientDefaults: {
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, indicator) => resourceServerInfo(resource, indicator),
      },
    },
  }
}

/** We do the signing; oidc-provider needs a key to start, and gets one that never signs anything. */
function throwAwayKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as never
}

/**
 * Scope is decided here: left alone, oidc-provider silently drops unknown scopes and gives a client without scopes
 * whatever it asks for.
 */
function resourceServerInfo(resource: string, indicator: string) {
  const { assigned, scope } = current()
  if (!areAssigned(scope, assigned)) throw new errors.InvalidScope('not assigned', scope)
  if (!sameResource(indicator, resource)) throw new errors.InvalidTarget()
  return { audience: resource, scope: assigned.join(' ') }
}

/** An empty path and `/` are the same (RFC 3986 §6.2.3). */
const sameResource = (indicator: string, resource: string): boolean =>
  indicator === resource || (indicator === `${resource}/` && new URL(resource).pathname === '/')

function refusalFor(error: string | undefined, { scope, assigned }: GrantRequest): Refusal {
  switch (error) {
    case 'unsupported_grant_type':
      return oauthError(error, 'grant_type must be client_credentials')
    case 'invalid_scope':
      return oauthError(
        error,
        'scope must name scopes of this client, each once, separated by single spaces',
        scopesLacking(scope, assigned).join(', ') || undefined,
      )
    case 'invalid_target':
      return oauthError(error, 'resource must be the identifier of the API, or be left out')
    case 'invalid_request':
      return invalidRequest('protocol', 'the request is not a valid token request')
  }
  throw new Error(`oidc-provider answered ${error ?? 'nothing'}`)
}

const oauthError = (error: string, description: string, about?: string): Refusal =>
  new Refusal({ status: 400, error, description, reason: error, about })
