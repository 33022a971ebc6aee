import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { ApiDocument, JsonSchema } from '../../apps/api/discovery/openapi/document-shape.ts'
import { resolveAnswer, resolveSchema } from '../../apps/api/discovery/openapi/shared-components.ts'

/** The parts of an answer that a document describes. */
interface Answered {
  status: number
  headers: Headers
  text: string
}

/** Header fields that belong to HTTP or to browsers, not to an operation. */
const COMMON = new Set(
  'cache-control connection content-encoding content-length content-security-policy content-type date keep-alive pragma referrer-policy transfer-encoding vary x-content-type-options x-request-id'.split(
    ' ',
  ),
)
/** Paths that serve operators and people. */
const NOT_DESCRIBED =
  /^\/(healthz|readyz|openapi\.json|openapi\/.*|llms\.txt|docs|docs\/.*|\.well-known\/security\.txt|\.well-known\/oauth-protected-resource\/.+)$/

/** Returns an assertion that the document promises an answer: its path, status, fields and body. */
export function createAnswerCheck(document: ApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  ajv.addSchema({ $id: 'document', components: closed(document.components, document) })
  const validators = new Map<unknown, ValidateFunction>()
  const patterns = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))

  function compileValidator(schema: JsonSchema): ValidateFunction {
    const known = validators.get(schema)
    if (known) return known
    const compiled = ajv.compile(
      JSON.parse(
        JSON.stringify(closed(schema, document)).replaceAll('"#/components', '"document#/components'),
      ),
    )
    validators.set(schema, compiled)
    return compiled
  }

  return (method: string, target: string, { status, headers, text }: Answered): void => {
    // As fetch sends it: without dot segments.
    const path = new URL(`http://server${target}`).pathname
    if (NOT_DESCRIBED.test(path)) return
    const at = `${method} ${path} answered ${status}`
    const match = patterns.find(({ pattern }) => pattern.test(path))
    if (!match) {
      assert.equal(status, 404, `${at}, but its path is not in the document`)
      return
    }
    const operation = document.paths[match.path]?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
    if (!operation) {
      assert.equal(status, 405, `${at}, but its method is not in the document`)
      return
    }
    // The document describes 412 once, for all operations without a tag.
    const answer =
      operation.responses[status] ?? (status === 412 && document.components.responses.precondition_failed)
    assert.ok(answer, `${at}, which is not in the document`)
    const documented = resolveAnswer(document, answer)
    const names = new Set(Object.keys(documented.headers ?? {}).map((name) => name.toLowerCase()))
    // The document describes these once, for all operations with a limit.
    if ('429' in operation.responses) for (const name of ['ratelimit', 'ratelimit-policy']) names.add(name)
    for (const name of headers.keys())
      assert.ok(COMMON.has(name) || names.has(name), `${at} with ${name}, which is not in the document`)
    assert.ok(headers.has('x-request-id'), `${at} without X-Request-Id`)
    const mayBeKept = headers.get('cache-control') !== 'no-store'
    assert.equal(mayBeKept, names.has('cache-control'), `${at} with another Cache-Control`)
    if (text === '') {
      assert.ok(!documented.content || method === 'HEAD', `${at} without the body of the document`)
      return
    }
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? ''
    const media = documented.content?.[type]
    assert.ok(media, `${at} as ${type}, which is not in the document`)
    const validate = compileValidator(media.schema)
    const body = type.endsWith('json') ? JSON.parse(text) : text
    assert.ok(validate(body), `${at}: ${ajv.errorsText(validate.errors)}: ${text.slice(0, 500)}`)
  }
}

/** Returns the schema with every object closed, so that a member the document does not have is a fault. */
export function closed<T>(schema: T, document: Pick<ApiDocument, 'components'>): T {
  if (Array.isArray(schema)) return schema.map((member) => closed(member, document)) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const whole = 'allOf' in schema ? joined(schema.allOf as JsonSchema[], document) : schema
  const copy = Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, closed(value, document)]))
  if (copy.type === 'object' && typeof copy.properties === 'object') copy.additionalProperties ??= false
  return copy as T
}

/** Returns one object with the members of all parts: closed alone, each would refuse the others'. */
function joined(parts: readonly JsonSchema[], { components }: Pick<ApiDocument, 'components'>): JsonSchema {
  const objects = parts.map(({ $ref, ...own }) =>
    typeof $ref === 'string' ? resolveSchema(components.schemas, { $ref }) : own,
  )
  return {
    type: 'object',
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)),
    required: objects.flatMap(({ required }) => (required as string[] | undefined) ?? []),
  }
}
