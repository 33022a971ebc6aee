import { SCOPES } from '#shared/oauth/scopes.ts'
import type { JsonSchema } from './document-shape.ts'

const ANY_SCOPE = `(${SCOPES.join('|')})`

const credentials = {
  client_id: { type: 'string', description: 'Left out if the client authenticates by HTTP Basic.' },
  client_secret: { type: 'string', description: 'Left out if the client authenticates by HTTP Basic.' },
}

/** Those of a client; a service has a secret. */
const clientCredentials = {
  ...credentials,
  client_assertion_type: {
    type: 'string',
    enum: ['urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
    description: 'For a client that has a key instead of a secret (RFC 7523).',
  },
  client_assertion: { type: 'string', description: "A JWT signed with the client's key." },
}

const text = (description?: string): JsonSchema => ({ type: 'string', ...(description && { description }) })
const uri: JsonSchema = { type: 'string', format: 'uri' }
const texts: JsonSchema = { type: 'array', items: { type: 'string' } }
const object = (properties: Record<string, JsonSchema>, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
})

const presentedToken = (by: Record<string, JsonSchema>): JsonSchema =>
  object(
    {
      token: { ...text('The access token.'), minLength: 1 },
      token_type_hint: text('Ignored.'),
      ...by,
    },
    ['token'],
  )

/** Every member is a URL or a list of words. */
const membersOf = (metadata: object): JsonSchema =>
  object(
    Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, Array.isArray(value) ? texts : uri]),
    ),
    Object.keys(metadata),
  )

/**
 * Returns the schemas of the authorization server's part of the OpenAPI document.
 * @param metadata its metadata (RFC 8414), and what it adds for OpenID Connect.
 */
export const oauthSchemas = (metadata: { server: object; openId: object }): Record<string, JsonSchema> => ({
  TokenRequest: object(
    {
      grant_type: { type: 'string', enum: ['client_credentials'] },
      ...clientCredentials,
      scope: {
        ...text("One or more of the client's scopes, each once, separated by single spaces."),
        pattern: `^${ANY_SCOPE}( ${ANY_SCOPE})*$`,
      },
      resource: text('If sent, the identifier of this API (RFC 8707).'),
    },
    ['grant_type', 'scope'],
  ),
  TokenAnswer: object(
    {
      access_token: text('A JWT by RFC 9068.'),
      token_type: { type: 'string', enum: ['Bearer'] },
      expires_in: { type: 'integer', description: 'Seconds.' },
      scope: text('The scopes of the token, as they were asked for.'),
      client_secret_expires_at: {
        type: 'integer',
        description:
          'When the client expires, in seconds since 1970. Only for a client that does (RFC 7591).',
      },
    },
    ['access_token', 'token_type', 'expires_in', 'scope'],
  ),
  RevocationRequest: presentedToken(clientCredentials),
  IntrospectionRequest: presentedToken(credentials),
  Introspection: object(
    {
      active: {
        type: 'boolean',
        description: 'Whether the token is live. If not, there is no other member.',
      },
      client_id: text(),
      sub: text('The same as `client_id`.'),
      vendor_id: text('The company of the client.'),
      scope: text(),
      iss: text(),
      aud: text(),
      iat: { type: 'integer' },
      exp: { type: 'integer' },
      jti: text(),
      token_type: { type: 'string', enum: ['Bearer'] },
    },
    ['active'],
  ),
  OAuthError: {
    ...object(
      {
        error: text('Stable; by RFC 6749 §5.2.'),
        error_description: text('For people; may change.'),
        error_uri: text('The page that explains it.'),
      },
      ['error'],
    ),
    description: 'An error of the OAuth endpoints (RFC 6749 §5.2).',
  },
  KeySet: object({ keys: { type: 'array', items: { $ref: '#/components/schemas/Key' } } }, ['keys']),
  Key: {
    ...object(
      {
        kty: { type: 'string', enum: ['EC', 'RSA'] },
        kid: text('The thumbprint of the key (RFC 7638).'),
        alg: { type: 'string', enum: ['ES256', 'RS256'] },
        use: { type: 'string', enum: ['sig'] },
        crv: text(),
        x: text(),
        y: text(),
        n: text(),
        e: text(),
      },
      ['kty', 'kid', 'alg', 'use'],
    ),
    description: 'A public key (RFC 7517 §4): `crv`, `x` and `y` if EC; `n` and `e` if RSA.',
  },
  ServerMetadata: membersOf(metadata.server),
  OpenIdMetadata: {
    allOf: [{ $ref: '#/components/schemas/ServerMetadata' }, membersOf(metadata.openId)],
  },
})
