import Provider, { type Adapter, type Client, type Configuration, errors } from 'oidc-provider'
import type { ClientCredentials } from '#shared/oauth/client-credentials.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { ConfigError } from '#shared/process/config.ts'
import { cacheGrants, createGrantCheck, scopesFromClientId } from './grant-check.ts'
import type { TokenKey } from './token-key.ts'

export const ACCESS_TOKEN_LIFE_S = 900

type Server = Record<'issuer' | 'resource', string>
type Recipient = Pick<ClientCredentials, 'clientId' | 'vendorId'>

/**
 * Returns a function that returns the grant for a signing key. Each key has one, for as long as it is in use.
 * @throws ConfigError when oidc-provider refuses the configuration.
 */
export function createGrants(server: Server): (key: TokenKey) => Grant {
  const grants = new WeakMap<TokenKey, Grant>()
  return (key) => {
    const grant = grants.get(key) ?? createGrant(server, key)
    grants.set(key, grant)
    return grant
  }
}

export type Grant = ReturnType<typeof createGrant>

/** The client credentials grant (RFC 6749 §4.4). oidc-provider checks each request and issues each token. */
function createGrant({ issuer, resource }: Server, key: TokenKey) {
  const provider = createProvider(issuer, configuration(resource, key))
  const resourceServer = new provider.ResourceServer(resource, {
    audience: resource,
    scope: '',
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: key.alg, kid: key.kid } },
  })
  return {
    check: cacheGrants(createGrantCheck(provider)),
    /** Issues a JWT with the claims of RFC 9068 §2.2 and the company. It expires 900 s after `now_ms`. */
    async issue(client: Client, { clientId, vendorId }: Recipient, scope: string, now_ms: number) {
      const iat = Math.floor(now_ms / 1_000)
      const exp = iat + ACCESS_TOKEN_LIFE_S
      const token = new provider.ClientCredentials({ client, scope, resourceServer, iat, exp })
      // oidc-provider's client stands for a set of scopes. The token gets the ids of the real one.
      token.clientId = clientId
      token.extra = { vendor_id: vendorId }
      return { token: await token.save(), jti: token.jti }
    },
  }
}

function createProvider(issuer: string, configuration: Configuration): Provider {
  try {
    return new Provider(issuer, configuration)
  } catch (error) {
    throw new ConfigError(`oidc-provider refuses its configuration: ${(error as Error).message}`)
  }
}

/** Each set of scopes is a client. A check ends with an opaque token that is not stored. It signs nothing. */
const ADAPTER: Partial<Adapter> = {
  find: async (id) => ({ client_id: id, scope: scopesFromClientId(id) || undefined }),
  upsert: async () => {},
}

/** Requests reach only the token endpoint of oidc-provider. */
function configuration(resource: string, key: TokenKey): Configuration {
  return {
    adapter: () => ADAPTER as Adapter,
    jwks: { keys: [key] },
    responseTypes: [],
    scopes: SCOPES,
    ttl: { ClientCredentials: ACCESS_TOKEN_LIFE_S },
    // The client is already authenticated, and its secret is not passed on.
    clientAuthMethods: ['none'],
    clientDefaults: {
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: key.alg,
      token_endpoint_auth_method: 'none',
    },
    extraTokenClaims: (_context, token) => token.extra,
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      resourceIndicators: {
        enabled: true,
        // A security control: with more scopes here, a client that has none would be granted them.
        getResourceServerInfo: (_context, indicator, { scope = '' }) => {
          if (indicator !== resource) throw new errors.InvalidTarget()
          return { audience: resource, scope }
        },
      },
    },
  }
}
