import { openIdMetadata, serverMetadata } from '#shared/oauth/server-metadata.ts'
import type { Answer, JsonSchema, Operation, Parameter } from './document-shape.ts'
import { oauthSchemas } from './oauth-schemas.ts'

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

/** Returns references to header fields of the document. */
export const headersOf = (names: readonly string[]): NonNullable<Answer['headers']> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const answer = (
  description: string,
  schema: string,
  example: unknown,
  headers: readonly string[] = [],
): Answer => ({
  description,
  headers: headersOf(headers),
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` }, example } },
})

/** @param says the example's `error_description`. */
const refusal = (error: string, why: string, says?: string, headers?: readonly string[]): Answer =>
  answer(`\`${error}\`: ${why}`, 'OAuthError', { error, ...(says && { error_description: says }) }, headers)

/** A client over its limit still learns what is wrong with its request; Retry-After then says how long to wait. */
const REFUSED = ['Retry-After']

const unavailable = (why: string): Answer =>
  refusal(
    'temporarily_unavailable',
    `${why}.`,
    'temporarily unavailable: try again after the time in Retry-After',
    REFUSED,
  )

/** What the HTTP server of every route answers. */
const unreadable = { 431: refusal('invalid_request', 'the header section is larger than 8 KiB.') }

/** Header fields of a public document. */
export const PUBLISHED = ['Cache-Control', 'ETag', 'Access-Control-Allow-Origin']

const ifNoneMatch: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of an earlier response. If nothing has changed since, the response is 304.',
  schema: { examples: ['"3q2-7wAAAAAAAAAAAAAAAAAAAAA"'], type: 'string' },
}

type About = Pick<Operation, 'operationId' | 'summary' | 'description'>

/** An endpoint of clients, which has errors in common with the others. */
const forClients = (
  about: About,
  requestBody: Operation['requestBody'],
  responses: Record<200 | 400, Answer>,
): Operation => ({
  ...about,
  tags: [TAG],
  security: [{ client: [] }, {}],
  ...(requestBody && { requestBody }),
  responses: {
    ...responses,
    ...unreadable,
    401: refusal(
      'invalid_client',
      'no client authentication, an unknown, revoked or expired client, or a wrong or missing secret or assertion. The answer is the same for each of them.',
      'client authentication failed',
      ['WWW-Authenticate'],
    ),
    429: refusal(
      'temporarily_unavailable',
      'over a rate limit.',
      'too many requests: try again after the time in Retry-After',
      REFUSED,
    ),
    500: refusal('server_error', 'the fault is ours.'),
    503: unavailable('the stores cannot be asked'),
  },
})

const NOT_A_FORM =
  'not a form, a field is missing or sent twice, or the credentials were sent in two ways or in the query.'

const withoutToken = refusal('invalid_request', NOT_A_FORM, 'token is missing', REFUSED)

/** A public document, with what it answers besides itself (RFC 9110 §13.1). */
const publicDocument = (about: About, document: Answer, unavailableBecause?: string): Operation => ({
  ...about,
  tags: [TAG],
  security: [],
  parameters: [ifNoneMatch],
  responses: {
    200: { ...document, headers: headersOf(PUBLISHED) },
    304: { description: 'Unchanged: `If-None-Match` names its tag.', headers: headersOf(PUBLISHED) },
    412: refusal('precondition_failed', 'no tag in `If-Match` is its own.'),
    ...unreadable,
    ...(unavailableBecause && { 503: unavailable(unavailableBecause) }),
  },
})

const issueToken = forClients(
  {
    operationId: 'issueToken',
    summary: 'Issue an access token',
    description:
      'The client-credentials grant (RFC 6749 §4.4). Authenticate in the body or by HTTP Basic, never both; a client that has a key sends an assertion (RFC 7523). There is no refresh token: ask again before the token expires.',
  },
  form('TokenRequest', { grant_type: 'client_credentials', scope: 'analytics:read' }),
  {
    200: answer('A token that lives 15 minutes.', 'TokenAnswer', {
      access_token: EXAMPLE_TOKEN,
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'analytics:read',
    }),
    400: answer(
      `\`invalid_request\`: ${NOT_A_FORM} \`invalid_scope\`: scope is missing, unknown, repeated or not assigned to the client. \`unsupported_grant_type\`. \`invalid_target\`: resource is not this API.`,
      'OAuthError',
      {
        error: 'invalid_scope',
        error_description: "scope is missing: name one or more of the client's scopes",
      },
      REFUSED,
    ),
  },
)

const revokeToken = forClients(
  {
    operationId: 'revokeToken',
    summary: 'Revoke an access token',
    description:
      "A client revokes a token of its own (RFC 7009). Any request with it that arrives after this answer is refused. Anything else gets the same 200, and nothing happens, so that no one can probe another client's tokens.",
  },
  form('RevocationRequest', { token: EXAMPLE_TOKEN }),
  { 200: { description: 'Done. There is no body.', headers: {} }, 400: withoutToken },
)

const introspectToken = forClients(
  {
    operationId: 'introspectToken',
    summary: 'Ask whether an access token is live',
    description:
      'For services that an operator of the authorization server has registered (RFC 7662); a client of a company gets 401. A service authenticates as a client does. The response is the same for every token that is not live, whatever the reason.',
  },
  form('IntrospectionRequest', { token: EXAMPLE_TOKEN }),
  {
    200: answer('Whether the token is live, and if so its claims.', 'Introspection', {
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
    }),
    400: withoutToken,
  },
)

const readRevocations = publicDocument(
  {
    operationId: 'readRevocations',
    summary: 'Read what is revoked',
    description:
      'For services that verify access tokens themselves: a JWT of type `revocations+jwt`, signed like an access token, with the claims `iss`, `iat`, `clients`, `tokens` and `keys`. Each of the last three lists ids (`client_id`, `jti`, `kid`) in sorted order, in place of each id the first 12 bytes of its SHA-256 in base64url. It contains everything whose revocation was answered more than a second before. Read it every second. With `Accept-Encoding: gzip` it is smaller by a third.',
  },
  {
    description: 'The clients, tokens and signing keys that are revoked.',
    content: {
      'application/jwt': {
        schema: { type: 'string', pattern: '^[\\w-]+\\.[\\w-]+\\.[\\w-]+$' },
        example: 'eyJ0eXAiOiJyZXZvY2F0aW9ucytqd3QiLCJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.e30.c2ln',
      },
    },
  },
  'the database cannot be asked, or waits for an operator after it was restored',
)

const readKeys = publicDocument(
  {
    operationId: 'readKeys',
    summary: 'Read the keys that verify access tokens',
    description:
      'A JWK Set (RFC 7517 §5). Keep it for five minutes at most: a revoked key must not live longer.',
  },
  answer('The keys: the one that signs, the next one, and those whose tokens may still be valid.', 'KeySet', {
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
  }),
  'no key could be read yet',
)

const readKeysAlias: Operation = {
  ...readKeys,
  operationId: 'readKeysAtWellKnownPath',
  summary: 'Read the same keys where libraries look that read no metadata',
}

const readMetadata = (rfc: string, about: Omit<About, 'summary'>, schema: string, example: object) => ({
  get: publicDocument(
    { ...about, summary: `Read the metadata of the authorization server (${rfc})` },
    answer('The metadata.', schema, example),
  ),
})

/**
 * Returns the authorization server's part of the OpenAPI document. It runs apart from this service, so its routes are
 * written down here.
 */
export function oauthPaths(server: { issuer: string; resource: string }): {
  paths: Record<string, Record<string, Operation>>
  schemas: Record<string, JsonSchema>
} {
  const metadata = serverMetadata(server)
  const openId = openIdMetadata(server, new Set(['ES256']))
  const { subject_types_supported, id_token_signing_alg_values_supported } = openId
  const forServer = {
    operationId: 'readServerMetadata',
    description: 'Where its endpoints are, and what they support.',
  }
  const forOpenId = {
    operationId: 'readServerMetadataForOpenId',
    description:
      'The same, where libraries for OpenID Connect look for it, with two members that they require. There are no ID tokens.',
  }
  return {
    // A copy, because the document replaces what several operations share with references.
    paths: structuredClone({
      '/v1/oauth/token': { post: issueToken },
      '/v1/oauth/revoke': { post: revokeToken },
      '/v1/oauth/introspect': { post: introspectToken },
      '/v1/oauth/revocations': { get: readRevocations },
      '/v1/oauth/jwks': { get: readKeys },
      '/.well-known/jwks.json': { get: readKeysAlias },
      '/.well-known/oauth-authorization-server': readMetadata(
        'RFC 8414',
        forServer,
        'ServerMetadata',
        metadata,
      ),
      '/.well-known/openid-configuration': readMetadata('RFC 8414 §5', forOpenId, 'OpenIdMetadata', openId),
    }),
    schemas: oauthSchemas({
      server: metadata,
      openId: { subject_types_supported, id_token_signing_alg_values_supported },
    }),
  }
}
