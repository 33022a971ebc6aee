import { SCOPES } from './scopes.ts'

const AUTHENTICATION_METHODS = ['client_secret_basic', 'client_secret_post']

/** The metadata of the authorization server (RFC 8414 §2), from its issuer and the identifier of the API alone. */
export const serverMetadata = ({ issuer, resource }: { issuer: string; resource: string }) => ({
  issuer,
  token_endpoint: `${issuer}/v1/oauth/token`,
  token_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
  revocation_endpoint: `${issuer}/v1/oauth/revoke`,
  revocation_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
  jwks_uri: `${issuer}/v1/oauth/jwks`,
  grant_types_supported: ['client_credentials'],
  // Required by §2; there is no authorization endpoint, so there are none.
  response_types_supported: [],
  scopes_supported: SCOPES,
  service_documentation: `${issuer}/docs`,
  // RFC 9728 §4
  protected_resources: [resource],
})
