import { PROBLEMS } from '../../problems/problems.ts'
import type {
  AnswerObject,
  ApiDocument,
  JsonSchema,
  Media,
  Parameter,
  SecurityRequirement,
} from '../openapi/document-shape.ts'
import {
  collectComponents,
  findExample,
  operationsByTag,
  type PathOperation,
  resolveAnswer,
  resolveParameter,
} from '../openapi/shared-components.ts'
import { OAUTH_ERRORS } from './errors.ts'
import { markdownTable } from './markdown.ts'

/** Returns the slug of the page of a tag. */
export const referenceSlug = (tag: string): string => `reference/${tag.toLowerCase()}`

/** Lists every operation, with an id so that links from when the reference was one page still work. */
export function referenceList(document: ApiDocument): string {
  const tags = [...operationsByTag(document)].map(([tag, entries]) => {
    const items = entries.map(({ path, method, operation: { operationId, summary } }) => {
      const link = `[${summary}](${referenceSlug(tag)}.md#${operationId})`
      return `- ${link} \`${method.toUpperCase()} ${path}\` {#${operationId}}`
    })
    return `## ${tag} {#section-${tag.toLowerCase()}}\n\n${items.join('\n')}`
  })
  return tags.join('\n\n')
}

/** Returns the page of one tag: its operations, and the schemas that they refer to. */
export function renderReference(tag: string, document: ApiDocument): string {
  const description = document.tags.find(({ name }) => name === tag)?.description
  const entries = operationsByTag(document).get(tag) ?? []
  const operations = entries.map((entry) => operationSection(entry, document))
  const usedComponents = collectComponents(document, entries)
  const schemas = Object.entries(document.components.schemas)
    .filter(([name]) => usedComponents.has(`schemas/${name}`))
    .map(([name, schema]) => {
      const members = memberRows(schema)
      return [
        `### ${name} {#schema-${name}}`,
        schema.description,
        schema.properties ? undefined : describeType(schema),
        members.length > 0 ? markdownTable(['Member', 'Type', 'What it is'], members) : undefined,
      ]
        .filter((part) => part !== undefined)
        .join('\n\n')
    })
  return [`# ${tag}`, description, ...operations, '## Schemas', ...schemas].join('\n\n')
}

function operationSection({ path, method, operation }: PathOperation, document: ApiDocument): string {
  const { operationId, summary, description, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map((parameter) => resolveParameter(document, parameter))
  const answers = Object.entries(responses).map(
    ([status, answer]) => [status, resolveAnswer(document, answer)] as const,
  )
  const bodies = (content: Record<string, Media> = {}) =>
    Object.entries(content).flatMap(([type, media]) => [
      `\`${type}\`: ${describeType(media.schema)}`,
      exampleBlock(type, findExample(document, media)),
    ])
  return [
    `## ${summary} {#${operationId}}`,
    `**${method.toUpperCase()}** \`${path}\``,
    description,
    describeAccess(operation.security ?? document.security),
    ...(parameters.length > 0
      ? [
          `### Parameters {#${operationId}-parameters}`,
          markdownTable(['Name', 'Type', 'What it is'], parameters.map(parameterRow)),
        ]
      : []),
    ...(requestBody ? [`### Body {#${operationId}-body}`, ...bodies(requestBody.content)] : []),
    `### Answers {#${operationId}-answers}`,
    markdownTable(['Status', 'What it means', 'Body'], answers.map(answerRow)),
    ...answers.flatMap(([status, { content }]) => (status < '300' ? bodies(content) : [])),
  ].join('\n\n')
}

function exampleBlock(type: string, example: unknown): string {
  if (type === 'application/x-www-form-urlencoded') {
    const form = new URLSearchParams(example as Record<string, string>).toString()
    return `\`\`\`form\n${form.replaceAll('&', '\n&')}\n\`\`\``
  }
  if (typeof example === 'string') return `\`\`\`text\n${example}\n\`\`\``
  return `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``
}

function describeAccess([required]: readonly SecurityRequirement[]): string {
  if (required?.accessToken) return `Access token with the scope \`${required.accessToken.join(', ')}\`.`
  if (required?.session) return 'Session of the workspace.'
  if (required?.clientBasic) return 'Id and secret, by HTTP Basic or in the body.'
  return 'No authentication.'
}

const parameterRow = ({ name, in: location, required, description = '', schema }: Parameter): string[] => [
  `\`${name}\``,
  `${location}, ${describeType(schema)}${required ? '' : ', optional'}`,
  description,
]

/** Returns the row of an answer, in which each error links to its explanation. */
function answerRow([status, { description, content = {} }]: readonly [string, AnswerObject]): string[] {
  const schema = Object.values(content)[0]?.schema
  const kind = 'application/json' in content ? 'oauth' : 'problem'
  const text = description.replaceAll(/`(\w+)`/g, (code, name: string) =>
    name in PROBLEMS || name in OAUTH_ERRORS ? `[${code}](errors.md#${kind}-${name})` : code,
  )
  return [status, text, schema ? describeType(schema) : '']
}

/** Returns a row for each member, followed by the rows of its own members. */
function memberRows(schema: JsonSchema, prefix = ''): string[][] {
  const { items, required = [] } = schema as { items?: JsonSchema; required?: string[] }
  if (items) return memberRows(items, prefix)
  const parts = [schema, ...alternatives(schema)] as { properties?: Record<string, JsonSchema> }[]
  return parts.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([name, member]) => {
      const path = `${prefix}${name}`
      const optional = required.includes(name) ? '' : ', optional'
      return [
        [`\`${path}\``, describeType(member) + optional, String(member.description ?? '')],
        ...memberRows(member, member.items ? `${path}[].` : `${path}.`),
      ]
    }),
  )
}

const alternatives = ({ anyOf, oneOf, allOf }: JsonSchema): JsonSchema[] =>
  [anyOf, oneOf, allOf].flatMap((parts) => (parts ?? []) as JsonSchema[])

/** Describes a schema in a few words, with links to named schemas. */
function describeType(schema: JsonSchema): string {
  const { $ref, type, items, format, minimum, maximum, minLength, maxLength } = schema
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return `[${name}](#schema-${name})`
  }
  const parts = alternatives(schema)
  if (parts.length > 0) return parts.map(describeType).join(schema.allOf ? ' and ' : ' or ')
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  if (Array.isArray(type)) return type.map((single) => describeType({ ...schema, type: single })).join(' or ')
  if (type === 'array') return `list of ${describeType((items ?? {}) as JsonSchema)}`
  const bounds = [
    ...describeRange(minimum, maximum, ''),
    ...describeRange(minLength, maxLength, ' characters'),
  ]
  return [type ?? 'anything', ...(format ? [`(${format})`] : []), ...bounds].join(' ')
}

function describeRange(low: unknown, high: unknown, unit: string): string[] {
  const above = typeof low === 'number' && Math.abs(low) < Number.MAX_SAFE_INTEGER ? low : undefined
  const below = typeof high === 'number' && high < Number.MAX_SAFE_INTEGER ? high : undefined
  if (above !== undefined && below !== undefined) return [`${above} to ${below}${unit}`]
  if (above !== undefined) return [`at least ${above}${unit}`]
  return below === undefined ? [] : [`at most ${below}${unit}`]
}
