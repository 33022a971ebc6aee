import assert from 'node:assert/strict'
import type { ApiDocument } from '../../apps/api/discovery/openapi/document-shape.ts'
import { integrationsDocument } from '../../apps/api/discovery/openapi/integrations.ts'
import { collectComponents } from '../../apps/api/discovery/openapi/shared-components.ts'
import { describeApi } from '../../apps/api/routes.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

type Node = Record<string, unknown>

const isObjectSchema = (schema: Node): boolean =>
  !('$ref' in schema) && (schema.type === 'object' || 'properties' in schema)

/** What breaks a generated client, and what it does there. */
const RULES: Record<string, (node: Node) => boolean> = {
  'an enum of one boolean: Java, Kotlin and C# do not compile': ({ type, enum: values, const: only }) =>
    (type === 'boolean' || typeof only === 'boolean') && (Array.isArray(values) || only !== undefined),
  'a variant without a name: generators call it Inner, and some lose it': ({ anyOf, oneOf }) =>
    [anyOf, oneOf].some((variants) => Array.isArray(variants) && variants.some(isObjectSchema)),
}

/** Returns each node that breaks a rule, as the rule and where the node is. */
function findFaults(node: unknown, path = ''): string[] {
  if (typeof node !== 'object' || node === null) return []
  const broken = Object.entries(RULES).filter(([, breaks]) => breaks(node as Node))
  return [
    ...broken.map(([rule]) => `${path}: ${rule}`),
    ...Object.entries(node).flatMap(([key, value]) => findFaults(value, `${path}/${key}`)),
  ]
}

describe('the OpenAPI documents', () => {
  const all = describeApi({ issuer: ISSUER, apiResource: API_RESOURCE })
  const integrations = integrationsDocument(all)

  for (const [name, document] of Object.entries({ all, integrations })) {
    it(`have nothing that breaks a generated client: ${name}`, () => {
      assert.deepEqual(findFaults({ paths: document.paths, components: document.components }), [])
    })

    it(`name no schema New…, as a Go generator names its constructors: ${name}`, () => {
      const names = Object.keys(document.components.schemas)
      assert.deepEqual(
        names.filter((name) => name.startsWith('New')),
        [],
      )
    })

    it(`have no component that nothing uses, and use none that they lack: ${name}`, () => {
      const used = collectComponents(document, document.paths)
      const { securitySchemes, ...components } = document.components
      const present = Object.entries(components).flatMap(([kind, parts]) =>
        Object.keys(parts).map((part) => `${kind}/${part}`),
      )
      assert.deepEqual(present.sort(), [...used].sort())
      assert.deepEqual(Object.keys(securitySchemes).sort(), listSchemes(document))
    })
  }

  it('find each fault that is planted', () => {
    const object = { type: 'object', properties: {} }
    for (const schema of [
      { type: 'boolean', enum: [true] },
      { type: 'boolean', const: true },
      { oneOf: [{ $ref: '#/components/schemas/Problem' }, object] },
      { anyOf: [object, { type: 'null' }] },
    ])
      assert.equal(findFaults({ schemas: { Planted: { properties: { member: schema } } } }).length, 1)
    assert.deepEqual(findFaults({ anyOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'null' }] }), [])
  })

  it('have the OAuth endpoints and what an access token opens, and no session, for integrators', () => {
    assert.deepEqual(Object.keys(integrations.paths), [
      '/v1/oauth/token',
      '/v1/oauth/revoke',
      '/v1/oauth/introspect',
      '/v1/oauth/revocations',
      '/v1/oauth/jwks',
      '/.well-known/jwks.json',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
      '/v1/analytics/{vendorId}/daily',
      '/v1/analytics/{vendorId}/events',
    ])
    assert.deepEqual(Object.keys(integrations.components.securitySchemes), ['client', 'accessToken'])
    assert.doesNotMatch(JSON.stringify(integrations), /"in":"cookie"|__Host-session/)
    for (const [path, methods] of Object.entries(integrations.paths))
      assert.deepEqual(methods, all.paths[path])
  })
})

/** The schemes that a document asks for, of its own or in an operation. */
function listSchemes({ security, paths }: ApiDocument): string[] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const required = [security, ...operations.map((operation) => operation.security ?? [])].flat()
  return [...new Set(required.flatMap((requirement) => Object.keys(requirement)))].sort()
}
