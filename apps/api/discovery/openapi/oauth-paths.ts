import { openIdMetadata, serverMetadata } from '#shared/oauth/server-metadata.ts'
import type { Answer, JsonSchema, Operation, Parameter } from './document-shape.ts'
import { oauthSchemas } from './oauth-schemas.ts'

/** The authorization server's part of the document. It runs apart from this service, so its routes are written down here. */
export interface OAuthPaths {
  paths: Record<string, Record<string, Operation>>
  schemas: Record<string, JsonSchema>
}

interface OAuthServer {
  issuer: string
  apiResource: string
}

const TAG = 'OAuth'
const EXAMPLE_TOKEN = 'eyJ0eXAiOiJhdCtqd3QiLCJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.e30.c2ln'
const CLIENT_ID = 'cli_4f1D2c3B5a69q78796a5w4'

/** The example leaves out the credentials, since tools add those of HTTP Basic, and no request may have both. */
const form = (name: string, example: unknown): NonNullable<Operation['requestBody']> => ({
  required: true,
  content: {
    'application/x-www-form-urlencoded': { schema: { $ref: `#/components/schemas/${name}` }, example },
  },
})

/** A client over its limit still learns what is wrong with its request; Retry-After then says how long to wait. */
const REFUSED = ['Retry-After']

const headersOf = (names: readonly string[]): NonNullable<Answer['headers']> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

interface OAuthAnswer {
  description: string
  headers?: readonly string[]
  /** The name of its schema; left out if there is no body. */
  schema?: string
  example?: unknown
}

const answer = ({ description, headers = [], schema, example }: OAuthAnswer): Answer => ({
  description,
  headers: headersOf(headers),
  ...(schema && {
    content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } },
  }),
})

const error = (error: string, error_description: string) => ({
  schema: 'OAuthError',
  example: { error, error_description },
})

/** What the HTTP server of every route answers. */
const unreadable = {
  431: answer({
    description: '`invalid_request`: the header section is larger than 8 KiB.',
    schema: 'OAuthError',
    example: { error: 'invalid_request' },
  }),
}

/** Header fields of a public document. */
const PUBLISHED = ['Cache-Control', 'ETag', 'Access-Control-Allow-Origin']

/** What the public documents answer besides themselves (RFC 9110 §13.1). */
const conditional = {
  304: answer({ description: 'Unchanged: `If-None-Match` names its tag.', headers: PUBLISHED }),
  412: answer({
    description: '`precondition_failed`: no tag in `If-Match` is its own.',
    schema: 'OAuthError',
    example: { error: 'precondition_failed' },
  }),
}
const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of an earlier response. If nothing has changed since, the response is 304.',
  schema: { examples: ['"3q2-7wAAAAAAAAAAAAAAAAAAAAA"'], type: 'string' },
}

/** What both endpoints for clients answer. */
const clientErrors = {
  ...unreadable,
  401: answer({
    description:
      '`invalid_client`: no client authentication, an unknown, revoked or expired client, or a wrong or missing secret or assertion. The answer is the same for each of them.',
    headers: ['WWW-Authenticate'],
    ...error('invalid_client', 'client authentication failed'),
  }),
  429: answer({
    description: '`temporarily_unavailable`: over a rate limit.',
    headers: ['Retry-After'],
    ...error('temporarily_unavailable', 'too many requests: try again after the time in Retry-After'),
  }),
  500: answer({
    description: '`server_error`: the fault is ours.',
    schema: 'OAuthError',
    example: { error: 'server_error' },
  }),
  503: answer({
    description: '`temporarily_unavailable`: the stores cannot be asked.',
    headers: ['Retry-After'],
    ...error('temporarily_unavailable', 'temporarily unavailable: try again after the time in Retry-After'),
  }),
}

/** Those of the endpoints that take a token. */
const tokenErrors = {
  400: answer({
    description:
      '`invalid_request`: not a form, a field is missing or sent twice, or the credentials were sent in two ways or in the query.',
    headers: REFUSED,
    ...error('invalid_request', 'token is missing'),
  }),
  ...clientErrors,
}

const issueToken = (): Operation => ({
  operationId: 'issueToken',
  tags: [TAG],
  summary: 'Issue an access token',
  description:
    'The client-credentials grant (RFC 6749 §4.4). Authenticate in the body or by HTTP Basic, never both; a client that has a key sends an assertion (RFC 7523). There is no refresh token: ask again before the token expires.',
  security: [{ client: [] }, {}],
  requestBody: form('TokenRequest', {
    grant_type: 'client_credentials',
    scope: 'analytics:read',
  }),
  responses: {
    200: answer({
      description: 'A token that lives 15 minutes.',
      schema: 'TokenAnswer',
      example: {
        access_token: EXAMPLE_TOKEN,
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'analytics:read',
      },
    }),
    400: answer({
      description:
        '`invalid_request`: not a form, a field is missing or sent twice, or the credentials were sent in two ways or in the query. `invalid_scope`: scope is missing, unknown, repeated or not assigned to the client. `unsupported_grant_type`. `invalid_target`: resource is not this API.',
      headers: REFUSED,
      ...error('invalid_scope', "scope is missing: name one or more of the client's scopes"),
    }),
    ...clientErrors,
  },
})

const revokeToken = (): Operation => ({
  operationId: 'revokeToken',
  tags: [TAG],
  summary: 'Revoke an access token',
  description:
    "A client revokes a token of its own (RFC 7009). Any request with it that arrives after this answer is refused. Anything else gets the same 200, and nothing happens, so that no one can probe another client's tokens.",
  security: [{ client: [] }, {}],
  requestBody: form('RevocationRequest', { token: EXAMPLE_TOKEN }),
  responses: {
    200: answer({ description: 'Done. There is no body.' }),
    ...tokenErrors,
  },
})

const introspectToken = (): Operation => ({
  operationId: 'introspectToken',
  tags: [TAG],
  summary: 'Ask whether an access token is live',
  description:
    'For services that an operator of the authorization server has registered (RFC 7662); a client of a company gets 401. A service authenticates as a client does. The response is the same for every token that is not live, whatever the reason.',
  security: [{ client: [] }, {}],
  requestBody: form('IntrospectionRequest', { token: EXAMPLE_TOKEN }),
  responses: {
    200: answer({
      description: 'Whether the token is live, and if so its claims.',
      schema: 'Introspection',
      example: {
        active: true,
        client_id: CLIENT_ID,
        sub: CLIENT_ID,
        vendor_id: 'ven_acme',
        scope: 'boost:write',
        iss: 'https://integrations.example',
        aud: 'https://integrations.example',
        iat: 1_780_000_000,
        exp: 1_780_000_900,
        jti: 'Jc2kX0q3uTq9b1C5e7F2aQ',
        token_type: 'Bearer',
      },
    }),
    ...tokenErrors,
  },
})

const readRevocations = (): Operation => ({
  operationId: 'readRevocations',
  tags: [TAG],
  summary: 'Read what is revoked',
  description:
    'For services that verify access tokens themselves: a JWT of type `revocations+jwt`, signed like an access token, with the claims `iss`, `iat`, `clients`, `tokens` and `keys`. Each of the last three lists ids (`client_id`, `jti`, `kid`) in sorted order, in place of each id the first 12 bytes of its SHA-256 in base64url. It contains everything whose revocation was answered more than a second before. Read it every second. With `Accept-Encoding: gzip` it is smaller by a third.',
  security: [],
  parameters: [ifNoneMatch],
  responses: {
    200: {
      description: 'The clients, tokens and signing keys that are revoked.',
      headers: headersOf(PUBLISHED),
      content: {
        'application/jwt': {
          schema: { type: 'string', pattern: '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$' },
          example: 'eyJ0eXAiOiJyZXZvY2F0aW9ucytqd3QiLCJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.e30.c2ln',
        },
      },
    },
    ...conditional,
    ...unreadable,
    503: answer({
      description:
        '`temporarily_unavailable`: the database cannot be asked, or waits for an operator after it was restored.',
      headers: ['Retry-After'],
      ...error('temporarily_unavailable', 'temporarily unavailable: try again after the time in Retry-After'),
    }),
  },
})

const readKeys = (): Operation => ({
  operationId: 'readKeys',
  tags: [TAG],
  summary: 'Read the keys that verify access tokens',
  description:
    'A JWK Set (RFC 7517 §5). Keep it for five minutes at most: a revoked key must not live longer.',
  security: [],
  parameters: [ifNoneMatch],
  responses: {
    200: answer({
      description: 'The keys: the one that signs, the next one, and those whose tokens may still be valid.',
      headers: PUBLISHED,
      schema: 'KeySet',
      example: {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
            y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
            kid: 'Zr4b0cJ1xT3',
            use: 'sig',
            alg: 'ES256',
          },
        ],
      },
    }),
    ...conditional,
    ...unreadable,
    503: answer({
      description: '`temporarily_unavailable`: no key could be read yet.',
      headers: ['Retry-After'],
      ...error('temporarily_unavailable', 'temporarily unavailable: try again after the time in Retry-After'),
    }),
  },
})

function readMetadata(
  about: { operationId: string; rfc: string; description: string },
  { schema, example }: { schema: string; example: object },
): Operation {
  const { operationId, rfc, description } = about
  return {
    operationId,
    tags: [TAG],
    summary: `Read the metadata of the authorization server (${rfc})`,
    description,
    security: [],
    parameters: [ifNoneMatch],
    responses: {
      200: answer({
        description: 'The metadata.',
        headers: PUBLISHED,
        schema,
        example,
      }),
      ...conditional,
      ...unreadable,
    },
  }
}

/** Returns the authorization server's operations and schemas for the OpenAPI document. */
export const oauthPaths = ({ issuer, apiResource: resource }: OAuthServer): OAuthPaths => ({
  paths: {
    '/v1/oauth/token': { post: issueToken() },
    '/v1/oauth/revoke': { post: revokeToken() },
    '/v1/oauth/introspect': { post: introspectToken() },
    '/v1/oauth/revocations': { get: readRevocations() },
    '/v1/oauth/jwks': { get: readKeys() },
    '/.well-known/oauth-authorization-server': {
      get: readMetadata(
        {
          operationId: 'readServerMetadata',
          rfc: 'RFC 8414',
          description: 'Where its endpoints are, and what they support.',
        },
        { schema: 'ServerMetadata', example: serverMetadata({ issuer, resource }) },
      ),
    },
    '/.well-known/openid-configuration': {
      get: readMetadata(
        {
          operationId: 'readServerMetadataForOpenId',
          rfc: 'RFC 8414 §5',
          description:
            'The same, where libraries for OpenID Connect look for it, with two members that they require. There are no ID tokens.',
        },
        { schema: 'OpenIdMetadata', example: openIdMetadata({ issuer, resource }, new Set(['ES256'])) },
      ),
    },
  },
  schemas: oauthSchemas(),
})
