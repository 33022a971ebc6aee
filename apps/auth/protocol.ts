import { generateKeyPairSync } from 'node:crypto'
import Provider, { type Client, type Configuration, errors } from 'oidc-provider'
import type { ClientCredentialsRecord } from '#shared/oauth/clients.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { ACCESS_TOKEN_LIFE_S } from './access-token.ts'
import type { AuthenticatedClient } from './authenticate.ts'
import { invalidClient, invalidRequest, Refusal } from './refusal.ts'

/** A token request whose client is authenticated, and how to make its token. */
export interface TokenRequest {
  readonly client: AuthenticatedClient
  readonly grantType: string
  readonly scope: string
  readonly resource: string | undefined
  /** Makes the token with exactly this scope; called at most once, and only for a request that may have it. */
  readonly issue: (scope: string) => string
}

/** The members of a token response (RFC 6749 §5.1). */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
}

export interface TokenProtocol {
  /** Judges a token request. @throws Error when oidc-provider fails in a way that no request should cause. */
  respond(request: TokenRequest): Promise<TokenResponse | Refusal>
}

const TOKEN_PATH = '/v1/oauth/token'

/**
 * What oidc-provider is given in place of a Node request: fields that this server has read and nothing else that a
 * caller sent, so that there is one reading of each request, and no other header (Host, Origin, Accept) counts.
 */
class ProtocolRequest {
  readonly method = 'POST'
  readonly url = TOKEN_PATH
  readonly httpVersionMajor = 1
  readonly readable = true
  readonly readableEncoding = null
  readonly socket = {}
  readonly headers: Record<string, string>
  readonly token: TokenRequest
  readonly #body: Buffer

  constructor(token: TokenRequest) {
    this.token = token
    const fields = {
      grant_type: token.grantType,
      client_id: token.client.record.clientId,
      // The secret was verified and goes no further; oidc-provider wants a field to be there.
      client_secret: 'verified',
      scope: token.scope,
      ...(token.resource === undefined ? {} : { resource: token.resource }),
    }
    this.#body = Buffer.from(new URLSearchParams(fields).toString())
    this.headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(this.#body.length),
    }
  }

  iterator(): Iterable<Buffer> {
    return [this.#body]
  }
}

/** Takes what Koa would write to a socket. Status and body are read from Koa's context. */
class ProtocolResponse {
  statusCode = 404
  statusMessage = ''
  readonly headersSent = false
  readonly writable = true
  setHeader(): void {}
  removeHeader(): void {}
  getHeader(): undefined {}
  getHeaders(): Record<string, string> {
    return {}
  }
  hasHeader(): boolean {
    return false
  }
}

/** The request that the running code of oidc-provider is about. */
function current(): TokenRequest {
  const request: unknown = Provider.ctx?.req
  if (request instanceof ProtocolRequest) return request.token
  throw new Error('oidc-provider ran a hook outside of a request')
}

/** oidc-provider set up to judge client-credentials token requests, and to do nothing else. */
export function createTokenProtocol({
  issuer,
  resource,
}: {
  issuer: string
  resource: string
}): TokenProtocol {
  const provider = new Provider(issuer, configuration(resource))
  overrideClientLookup(provider)
  overrideSigning(provider)
  // Koa's own callback would answer on a socket; this runs the one middleware that a Provider is.
  const [run] = provider.middleware
  if (!run || provider.middleware.length !== 1)
    throw new Error('oidc-provider is not one middleware any more')

  return {
    async respond(request) {
      const exchange = new ProtocolRequest(request)
      const context = provider.createContext(exchange as never, new ProtocolResponse() as never)
      await run(context as never, async () => {})
      const body = context.body as Partial<TokenResponse> & { error?: string }
      return context.status === 200 ? tokenResponse(request, body) : refusalFor(request, body?.error)
    },
  }
}

function configuration(resource: string): Configuration {
  return {
    adapter: NoStorage,
    jwks: { keys: [throwAwayKey()] },
    routes: { token: TOKEN_PATH },
    responseTypes: [],
    scopes: [...SCOPES],
    ttl: { ClientCredentials: ACCESS_TOKEN_LIFE_S },
    clientAuthMethods: ['client_secret_post'],
    clientDefaults: {
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'client_secret_post',
    },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        getResourceServerInfo: (_context, indicator) => resourceServerInfo(resource, indicator),
      },
    },
    renderError(context, out) {
      context.type = 'json'
      context.body = out
    },
  }
}

/** Signing is ours; oidc-provider wants a key to start, and gets one that nothing was or will be signed with. */
function throwAwayKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' } as never
}

/** Nothing of oidc-provider is stored: clients come with the request, JWT access tokens are not kept. */
class NoStorage {
  private refuse(): never {
    throw new Error('oidc-provider asked for storage that it has no use for')
  }
  upsert = this.refuse
  find = this.refuse
  findByUid = this.refuse
  findByUserCode = this.refuse
  destroy = this.refuse
  revokeByGrantId = this.refuse
  consume = this.refuse
}

/**
 * Scope is decided here, for every request: oidc-provider by itself drops unknown scopes in silence and gives a
 * client without scopes whatever it asks for.
 */
function resourceServerInfo(resource: string, indicator: string) {
  const { client, scope } = current()
  const requested = scope.split(' ')
  const assigned: readonly string[] = client.record.scopes
  if (new Set(requested).size !== requested.length || !requested.every((name) => assigned.includes(name))) {
    throw new errors.InvalidScope('not assigned', scope)
  }
  if (indicator !== resource) throw new errors.InvalidTarget()
  return {
    audience: resource,
    scope: assigned.join(' '),
    accessTokenFormat: 'jwt' as const,
    accessTokenTTL: ACCESS_TOKEN_LIFE_S,
  }
}

/**
 * Clients come from the authenticated request. oidc-provider keeps the last 100 that it built; with more in use it
 * builds one for each request, so they are kept here, for as long as their records are.
 */
function overrideClientLookup(provider: Provider): void {
  const built = new WeakMap<ClientCredentialsRecord, Client>()
  provider.Client.find = async (clientId: string) => {
    const { record } = current().client
    if (record.clientId !== clientId) return undefined
    const known = built.get(record)
    if (known) return known
    const metadata = {
      client_id: record.clientId,
      client_secret: 'verified',
      ...(record.scopes.length > 0 && { scope: record.scopes.join(' ') }),
    }
    const client: Client = Reflect.construct(provider.Client, [metadata])
    built.set(record, client)
    return client
  }
  // The secret was compared before; this confirms that it was for this client and no other.
  provider.Client.prototype.compareClientSecret = function (this: Client) {
    return current().client.record.clientId === this.clientId
  }
}

/** Thrown to stop oidc-provider at its last step: the request is in order, and must not be answered now. */
class OnHold extends errors.OIDCProviderError {
  constructor() {
    super(503, 'temporarily_unavailable')
    this.expose = true
  }
}

/** In place of oidc-provider's own JWT: the last step before a token exists, and so the last check. */
function overrideSigning(provider: Provider): void {
  provider.ClientCredentials.prototype.save = async function () {
    const { client, issue, scope } = current()
    if (client.hold) throw new OnHold()
    if (this.clientId !== client.record.clientId || this.scope !== scope) {
      throw new Error('oidc-provider grants something other than what was asked and checked')
    }
    return issue(scope)
  }
}

function tokenResponse(request: TokenRequest, body: Partial<TokenResponse>): TokenResponse {
  const { access_token: token, token_type: type, expires_in: life, scope } = body
  const expected = type === 'Bearer' && life === ACCESS_TOKEN_LIFE_S && scope === request.scope
  if (typeof token !== 'string' || !expected)
    throw new Error('oidc-provider answered with another token response')
  return { access_token: token, token_type: 'Bearer', expires_in: ACCESS_TOKEN_LIFE_S, scope }
}

function refusalFor(request: TokenRequest, error: string | undefined): Refusal {
  switch (error) {
    case 'temporarily_unavailable':
      if (request.client.hold) return request.client.hold
      break
    case 'unsupported_grant_type':
      return oauthError(error, 'grant_type must be client_credentials')
    case 'invalid_scope':
      return oauthError(error, 'scope must name scopes of this client, each once, separated by single spaces')
    case 'invalid_target':
      return oauthError(error, 'resource must be the identifier of the API, or be left out')
    case 'invalid_request':
      return invalidRequest('protocol', 'the request is not a valid token request')
    case 'invalid_client':
    case 'invalid_client_metadata':
      return invalidClient('wrong_secret', false)
  }
  throw new Error(`oidc-provider answered ${error ?? 'nothing'}`)
}

const oauthError = (error: string, description: string): Refusal =>
  new Refusal({ status: 400, error, description, reason: error })
