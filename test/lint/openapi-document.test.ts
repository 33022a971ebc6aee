import assert from 'node:assert/strict'
import { RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'
import type { ApiDocument, SecurityRequirement } from '../../apps/api/discovery/openapi/document-shape.ts'
import { integrationsDocument } from '../../apps/api/discovery/openapi/integrations.ts'
import { collectComponents } from '../../apps/api/discovery/openapi/shared-components.ts'
import { describeApi } from '../../apps/api/routes.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

type Node = Record<string, unknown>

const isObjectSchema = (schema: Node): boolean =>
  !('$ref' in schema) && (schema.type === 'object' || 'properties' in schema)

/**
 * Returns whether an expression is in the subset that JSON Schema 2020-12 §6.4 recommends, which every
 * language reads alike. Beside it, only `\\xHH` is allowed, since a control character has no other form.
 */
function isPortable(pattern: string): boolean {
  let portable = true
  const refuse = () => (portable = false)
  const refuseUnless = (isAllowed: boolean) => isAllowed || refuse()
  visitRegExpAST(new RegExpParser().parsePattern(pattern, undefined, undefined, { unicode: true }), {
    onAssertionEnter: ({ kind }) => refuseUnless(kind === 'start' || kind === 'end'),
    onCharacterEnter: ({ raw, value }) =>
      refuseUnless(raw === String.fromCodePoint(value) || /^\\x[0-9A-F]{2}$/.test(raw)),
    onBackreferenceEnter: refuse,
    onCharacterSetEnter: refuse,
    onExpressionCharacterClassEnter: refuse,
    onCapturingGroupEnter: ({ name }) => refuseUnless(name === null),
    onGroupEnter: refuse,
  })
  return portable
}

/** What breaks a generated client or leaves a gap in the reference, and what it does there. */
const RULES: Record<string, (node: Node) => boolean> = {
  'an enum of one boolean: Java, Kotlin and C# do not compile': ({ type, enum: values, const: only }) =>
    (type === 'boolean' || typeof only === 'boolean') && (Array.isArray(values) || only !== undefined),
  'a variant without a name: generators call it Inner, and some lose it': ({ anyOf, oneOf }) =>
    [anyOf, oneOf].some((variants) => Array.isArray(variants) && variants.some(isObjectSchema)),
  'a pattern that other languages cannot compile, or read otherwise': ({ pattern }) =>
    typeof pattern === 'string' && !isPortable(pattern),
  'a parameter without a description: the reference has an empty cell': ({ in: place, description }) =>
    place !== undefined && !description,
  'a pattern beside a format: some are too long for generators': ({ pattern, format }) =>
    pattern !== undefined && format !== undefined,
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
      for (const name of Object.keys(document.components.schemas)) assert.doesNotMatch(name, /^New/)
    })

    it(`have no component or scope that nothing uses, and use none that they lack: ${name}`, () => {
      const used = collectComponents(document, document.paths)
      const { securitySchemes, ...components } = document.components
      const present = Object.entries(components).flatMap(([kind, parts]) =>
        Object.keys(parts).map((part) => `${kind}/${part}`),
      )
      assert.deepEqual(present.sort(), [...used].sort())
      const text = JSON.stringify(all)
      for (const part of Object.keys(all.components.responses))
        assert.ok(text.split(`/responses/${part}"`).length > 2, `only one operation has ${part}`)
      const required = listRequirements(document)
      const { flows } = securitySchemes.accessToken as { flows: { clientCredentials: { scopes: Node } } }
      assert.deepEqual(new Set(Object.keys(securitySchemes)), new Set(required.flatMap(Object.keys)))
      const scopes = new Set(required.flatMap(({ accessToken = [] }) => accessToken))
      assert.deepEqual(new Set(Object.keys(flows.clientCredentials.scopes)), scopes)
    })
  }

  it('find each fault that is planted', () => {
    for (const schema of [
      { type: 'boolean', const: true },
      { anyOf: [{ type: 'object', properties: {} }, { type: 'null' }] },
      { type: 'boolean', enum: [true] },
      { oneOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: {} }] },
      { pattern: '^a$', format: 'date' },
      { name: 'limit', in: 'query' },
      ...'^\\p{L}$ ^\\w+$ ^\\/$ ^.$ ^(?:a)$ ^(?=a) (a)\\1 a\\b'.split(' ').map((pattern) => ({ pattern })),
    ])
      assert.equal(findFaults({ schemas: { Planted: { properties: { member: schema } } } }).length, 1)
  })

  it('have the OAuth endpoints and what an access token opens, and no session, for integrators', () => {
    const expected = `/v1/oauth/token /v1/oauth/revoke /v1/oauth/introspect /v1/oauth/revocations /v1/oauth/jwks
      /.well-known/jwks.json /.well-known/oauth-authorization-server /.well-known/openid-configuration
      /v1/analytics/{vendorId}/daily /v1/analytics/{vendorId}/events`
    assert.deepEqual(Object.keys(integrations.paths), expected.split(/\s+/))
    assert.deepEqual(Object.keys(integrations.components.securitySchemes), ['clientBasic', 'accessToken'])
    assert.doesNotMatch(JSON.stringify(integrations), /"in":"cookie"|__Host-session/)
    for (const [path, methods] of Object.entries(integrations.paths))
      assert.deepEqual(methods, all.paths[path])
  })
})

/** What a document asks for, of its own or in an operation. */
function listRequirements({ security, paths }: ApiDocument): SecurityRequirement[] {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return [security, ...operations.map((operation) => operation.security ?? [])].flat()
}
