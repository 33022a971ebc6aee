import type {
  Answer,
  ApiDocument,
  JsonSchema,
  Media,
  Operation,
  Parameter,
  Reference,
} from './document-shape.ts'

type Shared = Pick<ApiDocument['components'], 'responses' | 'parameters'>
type Paths = ApiDocument['paths']

/** One place of the document that holds a `part`, and puts a reference there in its stead. */
interface Use<Part> {
  part: Part
  name: string
  replace: (reference: Reference) => void
}

/**
 * Replaces every parameter and answer that several operations have, or that is a component already, by a reference to a
 * component, which makes the document a third of its size. A reader that resolves all references at once takes seconds
 * for the whole of it otherwise. Returns all components.
 */
export function shareComponents(paths: Paths, { parameters, responses }: Shared): Shared {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  return {
    parameters: share('parameters', parameters, operations.flatMap(parametersOf)),
    responses: share('responses', responses, operations.flatMap(answersOf)),
  }
}

function share<Part>(
  kind: keyof Shared,
  components: Record<string, Part>,
  uses: readonly Use<Part>[],
): Record<string, Part> {
  const shared = { ...components }
  const names = new Map(Object.entries(components).map(([name, part]) => [JSON.stringify(part), name]))
  for (const [text, same] of Map.groupBy(uses, ({ part }) => JSON.stringify(part))) {
    const [{ part, name: preferred }] = same as [Use<Part>]
    let name = names.get(text)
    if (name === undefined) {
      if (same.length === 1) continue
      name = preferred
      // The same error with different header fields.
      while (name in shared) name += '_too'
      shared[name] = part
    }
    for (const { replace } of same) replace({ $ref: `#/components/${kind}/${name}` })
  }
  return shared
}

const parametersOf = ({ parameters = [] }: Operation): Use<Parameter>[] =>
  parameters.flatMap((part, index) =>
    '$ref' in part
      ? []
      : [{ part, name: part.name, replace: (reference) => parameters.splice(index, 1, reference) }],
  )

const answersOf = ({ responses }: Operation): Use<Answer>[] =>
  Object.entries(responses).flatMap(([status, part]) => {
    if ('$ref' in part) return []
    const replace = (reference: Reference) => {
      responses[status] = reference
    }
    return [{ part, name: nameOf(status, part), replace }]
  })

/**
 * The name of its schema, or the errors that its description names. A problem has one status; an OAuth error can have
 * several.
 */
function nameOf(status: string, { description, content = {} }: Answer): string {
  if (status < '400') {
    const { $ref = 'unchanged' } = content['application/json']?.schema ?? {}
    return `${lastOf({ $ref: String($ref) })}_${status}`
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

/** Returns the components that `part` refers to, itself or by another, each as `schemas/Problem`. */
export function componentsIn(
  { components }: Components,
  part: unknown,
  found = new Set<string>(),
): Set<string> {
  for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
    const key = `${kind}/${name}`
    if (found.has(key)) continue
    found.add(key)
    componentsIn({ components }, components[kind as keyof typeof components][name], found)
  }
  return found
}

/** Returns the answer of an operation, also when it is a reference. */
export const answerOf = ({ components }: Components, answer: Answer | Reference): Answer =>
  '$ref' in answer ? (components.responses[lastOf(answer)] as Answer) : answer

/** Returns the parameter of an operation, also when it is a reference. */
export const parameterOf = ({ components }: Components, parameter: Parameter | Reference): Parameter =>
  '$ref' in parameter ? (components.parameters[lastOf(parameter)] as Parameter) : parameter

/** Returns the example of a body: its own, or that of its schema. */
export function exampleIn(
  { components }: Components,
  { schema: { $ref, examples }, example }: Media,
): unknown {
  if (example !== undefined) return example
  const component = typeof $ref === 'string' ? schemaOf(components.schemas, { $ref }) : { examples }
  return Array.isArray(component.examples) ? component.examples[0] : undefined
}

/** Returns the schema that a reference leads to. */
export const schemaOf = (schemas: Record<string, JsonSchema>, reference: Reference): JsonSchema =>
  schemas[lastOf(reference)] as JsonSchema

const lastOf = ({ $ref }: Reference): string => $ref.slice($ref.lastIndexOf('/') + 1)
