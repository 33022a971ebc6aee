import type {
  AnswerObject,
  ApiDocument,
  JsonSchema,
  Media,
  Operation,
  Parameter,
  Reference,
} from './document-shape.ts'

type Shared = Pick<ApiDocument['components'], 'responses' | 'parameters'>
type Paths = ApiDocument['paths']

/** A place in the document where a part is used. `replace` puts a reference there. */
interface Use<Part> {
  part: Part
  name: string
  replace: (reference: Reference) => void
}

/**
 * Moves every parameter and answer that several operations have into a component, and refers to it. Returns
 * the given components and the new ones. Without them the document is three times the size, and tools take
 * seconds to read it.
 */
export function shareComponents(paths: Paths, { parameters, responses }: Shared): Shared {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return {
    parameters: share('parameters', parameters, operations.flatMap(parameterUses)),
    responses: share('responses', responses, operations.flatMap(answerUses)),
  }
}

function share<Part>(
  kind: keyof Shared,
  components: Record<string, Part>,
  uses: readonly Use<Part>[],
): Record<string, Part> {
  const result = { ...components }
  const names = new Map(Object.entries(components).map(([name, part]) => [JSON.stringify(part), name]))
  for (const [text, equalUses] of Map.groupBy(uses, ({ part }) => JSON.stringify(part))) {
    const [{ part, name: preferred }] = equalUses as [Use<Part>]
    let name = names.get(text)
    if (name === undefined) {
      if (equalUses.length === 1) continue
      name = preferred
      // The same error with different header fields.
      while (name in result) name += '_too'
      result[name] = part
    }
    for (const { replace } of equalUses) replace({ $ref: `#/components/${kind}/${name}` })
  }
  return result
}

const parameterUses = ({ parameters = [] }: Operation): Use<Parameter>[] =>
  parameters.flatMap((part, index) =>
    '$ref' in part
      ? []
      : [{ part, name: part.name, replace: (reference) => parameters.splice(index, 1, reference) }],
  )

const answerUses = ({ responses }: Operation): Use<AnswerObject>[] =>
  Object.entries(responses).flatMap(([status, part]) => {
    if ('$ref' in part) return []
    const replace = (reference: Reference) => {
      responses[status] = reference
    }
    return [{ part, name: answerName(status, part), replace }]
  })

/**
 * Returns a component's name: that of its schema, or the errors that its description names, with the status
 * of an OAuth error, since these can have several.
 */
function answerName(status: string, { description, content = {} }: AnswerObject): string {
  if (status < '400') {
    const { $ref = 'unchanged' } = content['application/json']?.schema ?? {}
    return `${componentName({ $ref: String($ref) })}_${status}`
  }
  const codes = [...description.matchAll(/`(\w+)`: /g)].map(([, code = '']) => code).join('_or_')
  return 'application/json' in content ? `OAuth_${status}_${codes}` : codes
}

export interface PathOperation {
  path: string
  /** In lower case. */
  method: string
  operation: Operation
}

/** Returns the operations by their tag. */
export function operationsByTag({ paths }: Pick<ApiDocument, 'paths'>): Map<string, PathOperation[]> {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')
}

type Components = Pick<ApiDocument, 'components'>

const REFERENCE = /"#\/components\/(\w+)\/([\w-]+)"/g

/** Returns the components that `part` refers to, even through another, as in `schemas/Problem`. */
export function collectComponents(
  { components }: Components,
  part: unknown,
  found = new Set<string>(),
): Set<string> {
  for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
    const key = `${kind}/${name}`
    if (found.has(key)) continue
    found.add(key)
    collectComponents({ components }, components[kind as keyof typeof components][name], found)
  }
  return found
}

/** Returns the answer itself, if need be from the component that it refers to. */
export const resolveAnswer = ({ components }: Components, answer: AnswerObject | Reference): AnswerObject =>
  '$ref' in answer ? (components.responses[componentName(answer)] as AnswerObject) : answer

/** Returns the parameter itself, if need be from the component that it refers to. */
export const resolveParameter = ({ components }: Components, parameter: Parameter | Reference): Parameter =>
  '$ref' in parameter ? (components.parameters[componentName(parameter)] as Parameter) : parameter

/** Returns the example of a body: its own, or that of its schema. */
export function findExample(
  { components }: Components,
  { schema: { $ref, examples }, example }: Media,
): unknown {
  if (example !== undefined) return example
  const component = typeof $ref === 'string' ? resolveSchema(components.schemas, { $ref }) : { examples }
  return Array.isArray(component.examples) ? component.examples[0] : undefined
}

/** Returns the schema that is referred to. */
export const resolveSchema = (schemas: Record<string, JsonSchema>, reference: Reference): JsonSchema =>
  schemas[componentName(reference)] as JsonSchema

const componentName = ({ $ref }: Reference): string => $ref.slice($ref.lastIndexOf('/') + 1)
