import { z } from 'zod'
import type { SCOPES } from '#shared/oauth/scopes.ts'
import { PROBLEMS, type ProblemCode } from '#shared/problems.ts'
import { BODY_PROBLEMS } from '../http/body.ts'
import type { RouteDescription, Security } from '../http/route.ts'

export type JsonSchema = { [keyword: string]: unknown }

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
}

export interface Answer {
  description: string
  headers?: Record<string, { description: string; schema: JsonSchema }>
  content?: Record<string, { schema: JsonSchema }>
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security: Record<string, string[]>[]
  parameters: Parameter[]
  requestBody?: { required: true; content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, Answer>
}

export interface ApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, JsonSchema> }
}

/** Scopes in words, for the authorization screen of tools that read the document. */
const SCOPE_DESCRIPTIONS: Record<(typeof SCOPES)[number], string> = {
  'catalog:write': 'Change the catalog',
  'analytics:read': 'Read analytics',
  'boost:read': 'Read boosts',
  'analytics:write': 'Report analytics events',
  'boost:write': 'Change boosts',
}

/**
 * The OpenAPI 3.1 description of the routes, made from the routes themselves: the schemas that validate a request are
 * the ones that are published.
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
  const schemas: Record<string, JsonSchema> = { Problem: problemSchema() }
  const paths: ApiDocument['paths'] = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method] = operation(path, route, schemas)
  }
  const tokenUrl = `${issuer}/v1/oauth/token`
  return {
    openapi: '3.1.0',
    info: {
      title: 'Integration Access Service',
      version: '1',
      description: "A company's scoped OAuth 2.0 clients, daily analytics and callback.",
    },
    servers: [{ url: apiResource }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        accessToken: {
          type: 'oauth2',
          description: `A token for a client: POST ${tokenUrl} with grant_type=client_credentials (RFC 6749 §4.4).`,
          flows: { clientCredentials: { tokenUrl, scopes: SCOPE_DESCRIPTIONS } },
        },
        session: {
          type: 'http',
          scheme: 'bearer',
          description: 'The session token of the owner or an active admin of the company.',
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

function operation(path: string, route: RouteDescription, schemas: Schemas): Operation {
  const { operationId, summary, description, tag, by, query, headers, body, publishedBody = body } = route
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: securityOf(by.security),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => pathParameter(name)),
      ...(query ? parameters(query, 'query', schemas) : []),
      ...(headers ? parameters(headers, 'header', schemas) : []),
    ],
    ...(publishedBody && {
      requestBody: { required: true, content: json(jsonSchema(publishedBody, 'input', schemas)) },
    }),
    responses: { ...answers(route, schemas), ...problems(problemsOf(route)) },
  }
}

function securityOf(security: Security | undefined): Operation['security'] {
  if (!security) return []
  if (security.scheme === 'accessToken') return [{ accessToken: [security.scope] }]
  return [{ session: [] }, { sessionCookie: [] }]
}

/** Every problem that the caller, the input or the handler can cause. */
const problemsOf = ({ by, query, headers, body, problems = [] }: RouteDescription): ProblemCode[] => [
  ...new Set([
    ...by.problems,
    ...(body ? BODY_PROBLEMS : []),
    ...(query || headers ? ['invalid_input' as const] : []),
    ...problems,
  ]),
]

const pathParameter = (name: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
})

function parameters(schema: z.ZodObject, place: 'query' | 'header', schemas: Schemas): Parameter[] {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input', schemas) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: rest,
  }))
}

function answers({ answers }: RouteDescription, schemas: Schemas): Record<string, Answer> {
  return Object.fromEntries(
    Object.entries(answers).map(([status, { description, schema, headers }]) => [
      status,
      {
        description,
        ...(headers && { headers: describedHeaders(headers) }),
        ...(schema && { content: json(jsonSchema(schema, 'output', schemas)) }),
      },
    ]),
  )
}

const describedHeaders = (headers: Record<string, string>): NonNullable<Answer['headers']> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )

/** Every route can answer 500; the others are the ones that its middlewares and handler name. */
function problems(codes: readonly ProblemCode[]): Record<string, Answer> {
  const byStatus = Map.groupBy([...codes, 'internal' as const], (code) => PROBLEMS[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}

const json = (schema: JsonSchema) => ({ 'application/json': { schema } })

/** Schemas with an `id` become components; the rest stays where it is. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Schemas): JsonSchema {
  const document = z.toJSONSchema(z.object({ root: schema }), {
    io,
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves out the default of what is transformed, since it is not of the type that is sent.
      const { default: value } = z.globalRegistry.get(zodSchema) ?? {}
      if (value !== undefined) jsonSchema.default = value
      // An answer may grow new members; a client that refuses them would break.
      if (io === 'output') delete jsonSchema.additionalProperties
    },
  })
  const { $defs = {}, properties } = JSON.parse(
    JSON.stringify(document).replaceAll('"#/$defs/', '"#/components/schemas/'),
  )
  for (const [id, definition] of Object.entries($defs)) schemas[id] ??= definition as JsonSchema
  return properties.root
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
              'A JSON pointer (RFC 6901) into the body, `?name` for a query parameter, or the name of a header field.',
          },
          detail: { type: 'string' },
        },
      },
    },
  },
})
