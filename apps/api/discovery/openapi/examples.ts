import type { JsonSchema } from './document-shape.ts'
import { resolveSchema } from './shared-components.ts'

/** Examples of members by name, for schemas without an example. */
const EXAMPLES_BY_NAME: Record<string, unknown> = {
  address: '203.0.113.7',
  advice: 'The receiver works.',
  callbackUrl: 'https://hooks.example.com/events',
  clientId: 'cli_4f1D2c3B5a69q78796a5w4',
  clientSecret: 'ias_shownOnce',
  email: 'owner@acme.example',
  entryId: '42',
  eventId: 'order-2026-11-20-0001',
  issuer: 'https://token.actions.githubusercontent.com',
  name: 'Warehouse export',
  password: 'correct horse battery staple',
  replaces: 'cli_4f1D2c3B5a69q78796a5w4',
  requestId: '0b9f6b52-3c1e-4f55-9f0e-6b8f6f1c1d2a',
  sessionId: 'sid_0123456789abcdef0123456789abcdef',
  sessionToken: 'returned-once',
  subject: 'cli_4f1D2c3B5a69q78796a5w4',
  url: 'https://hooks.example.com/events',
  userAgent: 'Mozilla/5.0',
  userId: 'usr_owner',
  vendorId: 'ven_acme',
}

const EXAMPLES_BY_FORMAT: Record<string, string> = {
  'date-time': '2026-11-20T17:04:00.000Z',
  date: '2026-11-20',
  uri: 'https://api.example.com',
}

/** Returns a value that `schema` allows, built from the examples of its members. */
export function createExample(schema: JsonSchema, schemas: Record<string, JsonSchema>, name = ''): unknown {
  const { $ref, examples, anyOf, oneOf, items, properties, format, minimum } = schema
  if (typeof $ref === 'string') return createExample(resolveSchema(schemas, { $ref }), schemas, name)
  if (Array.isArray(examples)) return examples[0]
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  if (Array.isArray(schema.allOf))
    return Object.assign({}, ...schema.allOf.map((part) => createExample(part, schemas, name)))
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) return createExample(alternatives[0], schemas, name)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object') {
    const members = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
    return Object.fromEntries(
      members.map(([member, schema]) => [member, createExample(schema, schemas, member)]),
    )
  }
  if (type === 'array') return [createExample((items ?? {}) as JsonSchema, schemas, name)]
  if (type === 'boolean') return true
  if (typeof EXAMPLES_BY_NAME[name] === type) return EXAMPLES_BY_NAME[name]
  if (type === 'integer' || type === 'number') return Math.max(1, typeof minimum === 'number' ? minimum : 1)
  return EXAMPLES_BY_FORMAT[String(format)] ?? 'text'
}
