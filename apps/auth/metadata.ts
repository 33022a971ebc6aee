import { ASSERTION_ALGORITHMS } from '#shared/oauth/client-credentials.ts'
import { SCOPES } from '#shared/oauth/scopes.ts'

type Server = { issuer: string; resource: string }

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post']
const CLIENT_METHODS = [...SECRET_METHODS, 'private_key_jwt']

/** Returns the server's metadata (RFC 8414 §2), from its issuer and the identifier of the API alone. */
export const serverMetadata = ({ issuer, resource }: Server) => ({
  issuer,
  token_endpoint: `${issuer}/v1/oauth/token`,
  token_endpoint_auth_methods_supported: CLIENT_METHODS,
  token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  revocation_endpoint: `${issuer}/v1/oauth/revoke`,
  revocation_endpoint_auth_methods_supported: CLIENT_METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
  introspection_endpoint: `${issuer}/v1/oauth/introspect`,
  introspection_endpoint_auth_methods_supported: SECRET_METHODS,
  // No RFC defines it: where services that verify tokens themselves read what is revoked.
  revocations_uri: `${issuer}/v1/oauth/revocations`,
  jwks_uri: `${issuer}/v1/oauth/jwks`,
  grant_types_supported: ['client_credentials'],
  // Required by §2; there is no authorization endpoint, so there are none.
  response_types_supported: [],
  scopes_supported: SCOPES,
  service_documentation: `${issuer}/docs`,
  // RFC 9728 §4
  protected_resources: [resource],
})

/**
 * Returns the same for libraries of OpenID Connect (RFC 8414 §5), with two members of OpenID Connect
 * Discovery §3: Spring Security does not start without the first, and go-oidc accepts RS256 only without the
 * second.
 */
export const openIdMetadata = (server: Server, algorithms: Set<string>) => ({
  ...serverMetadata(server),
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [...algorithms].sort(),
})
