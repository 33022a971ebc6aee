import { z } from 'zod'
import type { SCOPES } from '#shared/oauth/scopes.ts'
import { BODY_PROBLEMS } from '../../http/body.ts'
import type { RouteDescription, Security } from '../../http/route.ts'
import { pathTemplate } from '../../http/router.ts'
import { PROBLEMS, type ProblemCode } from '../../problems/problems.ts'
import { describeAuthServer } from './auth-server.ts'
import type { AnswerObject, ApiDocument, Header, JsonSchema, Operation, Parameter } from './document-shape.ts'
import { createExample } from './examples.ts'
import { resolveSchema, shareComponents } from './shared-components.ts'

export const TAGS: Record<string, string> = {
  OAuth: 'The authorization server: tokens, their revocation, and the keys that verify them.',
  Analytics: 'The daily figures of a company, and the events behind them.',
  Clients: 'The OAuth clients of a company.',
  Callback: 'Where a company receives events.',
  Activity: 'Who did what, and when.',
  People: 'The people of a company, and invitations to join it.',
  Session: 'Sign-in to the workspace.',
  Discovery: 'What machines read to find their way.',
}

const field = (description: string, schema: JsonSchema): Header => ({ description, schema })
const text = (example: string): JsonSchema => ({ type: 'string', examples: [example] })

/** Header fields of answers, once for all operations. */
const HEADERS: Record<string, Header> = {
  'Cache-Control': field('For how long the answer may be kept.', text('public, max-age=300')),
  'WWW-Authenticate': field(
    'How to authenticate, and what was wrong (RFC 6750 §3, RFC 9110 §11.6.1).',
    text('Bearer realm="https://api.example.com", error="invalid_token"'),
  ),
  'Retry-After': field('After how many seconds the request may be repeated.', {
    type: 'integer',
    examples: [2],
  }),
  Accept: field('The media type that a body must have.', text('application/json')),
  'Accept-Encoding': field('The encoding that a body must have.', text('identity')),
  ETag: field(
    'A strong tag of the answer, which changes exactly when the answer does.',
    text('"3q2-7wAAAAAAAAAAAAAAAAAAAAA"'),
  ),
  'Access-Control-Allow-Origin': field('Pages of every origin may read the document.', text('*')),
  Location: field(
    'The path of what was made, or where the browser goes on.',
    text('/v1/vendor/ven_acme/oauth-clients/cli_4f1D2c3B5a69q78796a5w4'),
  ),
  'Set-Cookie': field('The session, if it is kept in a cookie.', text('__Host-session=…; HttpOnly')),
}

/** The scopes that operations need. Tools that import the document ask for all of them at once. */
const SCOPE_DESCRIPTIONS: Partial<Record<(typeof SCOPES)[number], string>> = {
  'analytics:read': 'Read analytics',
  'analytics:write': 'Report analytics events',
}

/**
 * Returns the OpenAPI 3.1 document of the routes and of the authorization server. The schemas that it
 * publishes are those that validate requests.
 */
export function createApiDocument({
  routes,
  issuer,
  apiResource,
}: {
  routes: readonly RouteDescription[]
  issuer: string
  apiResource: string
}): ApiDocument {
  const { paths, components } = describeAuthServer({ issuer, resource: apiResource })
  const schemas: Record<string, JsonSchema> = { Problem: problemSchema(), ...components.schemas }
  for (const route of routes) {
    const path = pathTemplate(route.path)
    paths[path] ??= {}
    paths[path][route.method] = describeOperation(path, route, schemas)
  }
  addExamples(paths, schemas)
  const sharedComponents = shareComponents(paths, components)
  const usedTags = new Set(
    Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(({ tags }) => tags)),
  )
  const tokenUrl = `${issuer}/v1/oauth/token`
  return {
    openapi: '3.1.0',
    info: {
      title: 'Integration Access Service',
      version: '1',
      // Describing X-Request-Id in every answer would add an eighth to the document.
      description:
        "A company's scoped OAuth 2.0 clients, daily analytics and callback. Every response has " +
        'X-Request-Id, which names the request: quote it when you ask for help. Once a limit has been ' +
        'counted, responses of operations with a 429 have RateLimit, what is left of it, and ' +
        'RateLimit-Policy, the limit (draft-ietf-httpapi-ratelimit-headers-10). Responses for which no ' +
        'Cache-Control is described have `no-store`. A request with If-Match for something without an ' +
        'ETag is answered with 412 `precondition_failed`. Times in responses are in UTC.',
      contact: { name: 'Integration Access Service', url: `${apiResource}/docs` },
      // An SPDX name: setuptools refuses a generated Python package with any other.
      license: { name: 'LicenseRef-Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: apiResource }],
    security: [{ session: [] }, { sessionCookie: [] }],
    tags: [...usedTags].map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
    components: {
      schemas,
      ...sharedComponents,
      headers: HEADERS,
      securitySchemes: {
        clientBasic: {
          type: 'http',
          scheme: 'basic',
          description: 'Id and secret of the client, both form-encoded first (RFC 6749 §2.3.1).',
        },
        accessToken: {
          type: 'oauth2',
          description: [
            `A token for a client: POST ${tokenUrl} with grant_type=client_credentials`,
            '(RFC 6749 §4.4).',
          ].join(' '),
          flows: { clientCredentials: { tokenUrl, scopes: SCOPE_DESCRIPTIONS } },
        },
        session: {
          type: 'http',
          scheme: 'bearer',
          description: 'The session token of a person whose role in the company allows the operation.',
        },
        sessionCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: apiResource.startsWith('https:') ? '__Host-session' : 'session',
          description:
            'The same session in a browser. A request that changes something must come from the workspace.',
        },
      },
    },
  }
}

type Schemas = Record<string, JsonSchema>

function describeOperation(path: string, route: RouteDescription, schemas: Schemas): Operation {
  const { operationId, summary, description, tag, access } = route
  const { query, headers, body, publishedBody = body } = route
  const allParameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => pathParameter(name)),
    ...(query ? describeParameters(query, 'query', schemas) : []),
    ...(headers ? describeParameters(headers, 'header', schemas) : []),
  ]
  return {
    operationId,
    tags: [tag],
    summary,
    description: access.people ? `${description} Only ${access.people} may call it.` : description,
    ...describeSecurity(access.security),
    ...(allParameters.length > 0 && { parameters: allParameters }),
    ...(publishedBody && {
      requestBody: {
        required: true,
        content: mediaTypes(toJsonSchema(publishedBody, 'input', schemas)),
      },
    }),
    responses: { ...describeAnswers(route, schemas), ...describeProblems(listProblems(route)) },
  }
}

/** Returns no requirement for sessions, which are the document's default. */
function describeSecurity(security: Security | undefined): Pick<Operation, 'security'> {
  if (!security) return { security: [] }
  return security.scheme === 'accessToken' ? { security: [{ accessToken: [security.scope] }] } : {}
}

/**
 * Lists every problem that the caller, the input or the handler can cause. Any route can answer 412. It is
 * listed only if the route has an ETag, or no other 4xx, because linters require one.
 */
function listProblems({ access, query, headers, body, problems = [] }: RouteDescription): ProblemCode[] {
  const codes = new Set([
    ...access.problems,
    ...(body ? BODY_PROBLEMS : []),
    ...(query || headers ? ['invalid_input' as const] : []),
    ...problems,
  ])
  const hasEntityTag = headers && 'If-Match' in headers.shape
  if (hasEntityTag || [...codes].every((code) => PROBLEMS[code].status >= 500))
    codes.add('precondition_failed')
  return [...codes]
}

const PATH_PARAMETERS: Record<string, string> = {
  vendorId: 'The company, as `INTEGRATION_VENDOR_ID` names it.',
  clientId: 'A client of the company.',
  userId: 'A person of the company.',
  sessionId: 'A session of the person who asks.',
  requestId: 'The `X-Request-Id` of the answer that refused.',
}

const pathParameter = (name: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description: PATH_PARAMETERS[name] as string,
  schema: { type: 'string', examples: [createExample({ type: 'string' }, {}, name)] },
})

function describeParameters(
  schema: z.ZodObject,
  location: 'query' | 'header',
  schemas: Schemas,
): Parameter[] {
  const { properties = {}, required = [] } = toJsonSchema(schema, 'input', schemas) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: location,
    ...(required.includes(name) && { required: true as const }),
    ...(typeof description === 'string' && { description }),
    schema: rest,
  }))
}

/** Returns references to header fields of the document. */
const headerReferences = (names: readonly string[]): NonNullable<AnswerObject['headers']> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

function describeAnswers(route: RouteDescription, schemas: Schemas): Record<string, AnswerObject> {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, { description, schema, headers = [] }]) => [
      status,
      {
        description,
        headers: headerReferences(headers),
        ...(schema && { content: mediaTypes(toJsonSchema(schema, 'output', schemas)) }),
      },
    ]),
  )
}

/** Header fields of a problem, besides those of every answer. */
const PROBLEM_HEADERS: Partial<Record<ProblemCode, readonly string[]>> = {
  unauthenticated: ['WWW-Authenticate'],
  invalid_token: ['WWW-Authenticate'],
  invalid_request: ['WWW-Authenticate'],
  invalid_credentials: ['WWW-Authenticate'],
  insufficient_scope: ['WWW-Authenticate'],
  unsupported_media_type: ['Accept', 'Accept-Encoding'],
  rate_limited: ['Retry-After'],
  idempotency_in_progress: ['Retry-After'],
  unavailable: ['Retry-After'],
  bad_gateway: ['Retry-After'],
}

/** Describes the problems, and 500, 502 and 504, which any route or its gateway can answer. */
function describeProblems(codes: readonly ProblemCode[]): Record<string, AnswerObject> {
  const byStatus = Map.groupBy(
    [...codes, 'internal' as const, 'bad_gateway' as const, 'gateway_timeout' as const],
    (code) => PROBLEMS[code].status,
  )
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        headers: headerReferences(codes.flatMap((code) => PROBLEM_HEADERS[code] ?? [])),
        content: {
          'application/problem+json': {
            schema: { $ref: '#/components/schemas/Problem' },
            example: problemExample(codes[0] as ProblemCode),
          },
        },
      },
    ]),
  )
}

const problemExample = (code: ProblemCode) => ({
  type: `https://api.example.com/docs/errors#problem-${code}`,
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: `${PROBLEMS[code].title}.`,
  code,
  requestId: '0b9f6b52-3c1e-4f55-9f0e-6b8f6f1c1d2a',
})

/** Adds an example to each body and answer, or to its component. Needs all schemas. */
function addExamples(paths: ApiDocument['paths'], schemas: Schemas): void {
  for (const { requestBody, responses } of Object.values(paths).flatMap((methods) =>
    Object.values(methods),
  )) {
    for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)] as AnswerObject[]) {
      for (const media of Object.values(content)) {
        if (media.example !== undefined) continue
        const example = createExample(media.schema, schemas)
        const { $ref } = media.schema
        if (typeof $ref === 'string') resolveSchema(schemas, { $ref }).examples = [example]
        else media.example = example
      }
    }
  }
}

const mediaTypes = (schema: JsonSchema) => ({ 'application/json': { schema } })

/** Generators take an integer without a format to have 32 bits. */
const INT32_MAX = 2 ** 31 - 1

/** Returns a schema as JSON Schema. Parts with an `id` are added to `schemas` and referred to. */
function toJsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): JsonSchema {
  const document = z.toJSONSchema(z.object({ root: schema }), {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves out the default and the examples of a transformed schema.
      const { default: value, examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (value !== undefined) jsonSchema.default = value
      if (examples) jsonSchema.examples = examples as unknown[]
      // Generators fail on the long patterns of formats, and some do not know const.
      if (jsonSchema.format) delete jsonSchema.pattern
      if (jsonSchema.const !== undefined) {
        jsonSchema.enum = [jsonSchema.const]
        delete jsonSchema.const
      }
      if (jsonSchema.type === 'integer' && !(Number(jsonSchema.maximum) <= INT32_MAX))
        jsonSchema.format = 'int64'
      // zod writes other nullable strings in this short form itself.
      const [dateTime, nullType] = jsonSchema.anyOf ?? []
      if (dateTime?.format === 'date-time' && nullType?.type === 'null') {
        delete jsonSchema.anyOf
        Object.assign(jsonSchema, { type: ['string', 'null'], format: 'date-time' })
      }
      if (zodSchema instanceof z.ZodDiscriminatedUnion)
        jsonSchema.discriminator = describeDiscriminator(zodSchema)
      // These are zod's limits, not the API's.
      if (io === 'output' && jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (io === 'output' && jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      // An answer may grow new members; a client that refuses them would break.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // Every name is a string.
      delete jsonSchema.propertyNames
    },
  })
  const { $defs = {}, properties } = JSON.parse(
    JSON.stringify(document).replaceAll('"#/$defs/', '"#/components/schemas/'),
  )
  for (const [id, definition] of Object.entries($defs)) schemas[id] ??= definition as JsonSchema
  return properties.root
}

/** Returns the member that tells the variants of a union apart. Each variant must have an `id`. */
function describeDiscriminator(union: z.ZodDiscriminatedUnion): JsonSchema {
  const { discriminator: propertyName } = union.def
  const options = union.options as z.ZodObject[]
  const mapping = options.map((option) => [
    (option.shape[propertyName] as z.ZodLiteral).value,
    `#/components/schemas/${z.globalRegistry.get(option)?.id}`,
  ])
  return { propertyName, mapping: Object.fromEntries(mapping) }
}

const problemSchema = (): JsonSchema => ({
  type: 'object',
  description: 'RFC 9457. `code` is stable; `detail` is for people and may change.',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId'],
  properties: {
    type: { type: 'string', format: 'uri', description: 'Where this problem is explained.' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    requestId: { type: 'string', description: 'Quote it when you ask for help.' },
    errors: {
      type: 'array',
      description: 'What is wrong with the input.',
      items: {
        type: 'object',
        required: ['pointer', 'detail'],
        properties: {
          pointer: {
            type: 'string',
            description:
              'A JSON pointer (RFC 6901) into the body, `?name` for a query parameter, or the name of ' +
              'a header field.',
          },
          detail: { type: 'string' },
        },
      },
    },
  },
})
