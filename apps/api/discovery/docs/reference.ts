import { PROBLEMS } from '#shared/problems/problems.ts'
import type {
  Answer,
  ApiDocument,
  JsonSchema,
  Media,
  Parameter,
  SecurityRequirement,
} from '../openapi/document-shape.ts'
import {
  answerOf,
  exampleIn,
  operationsByTag,
  type PathOperation,
  parameterOf,
} from '../openapi/shared-components.ts'
import { oauthAnchor, problemAnchor } from './errors.ts'
import { code, escaped, figure, prose, table } from './html.ts'
import { OAUTH_ERRORS } from './oauth-errors.ts'

/**
 * Every operation and every schema of the document.
 * @param errorsHref the address of the page of errors.
 */
export function reference(document: ApiDocument, errorsHref: string): string {
  const descriptions = new Map(document.tags.map(({ name, description }) => [name, description]))
  const operations = [...operationsByTag(document)].map(
    ([tag, ofTag]) => `<h2 id="${slug(tag)}">${escaped(tag)}</h2>
<p>${escaped(descriptions.get(tag) ?? '')}</p>
${contents(ofTag)}
${ofTag.map((entry) => operationSection(entry, document, errorsHref)).join('\n')}`,
  )
  const schemas = Object.entries(document.components.schemas).map(schemaSection)
  return `${operations.join('\n')}\n<h2 id="schemas">Schemas</h2>\n${schemas.join('\n')}`
}

const contents = (entries: readonly PathOperation[]): string =>
  `<ul>${entries
    .map(
      ({ method, path, operation }) =>
        `<li><a href="#${operation.operationId}">${escaped(operation.summary)}</a> <span class="route">${method.toUpperCase()} ${code(path)}</span></li>`,
    )
    .join('')}</ul>`

function operationSection(
  { path, method, operation }: PathOperation,
  document: ApiDocument,
  errorsHref: string,
): string {
  const { operationId, summary, description, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map((parameter) => parameterOf(document, parameter))
  const answers = Object.entries(responses).map(
    ([status, answer]) => [status, answerOf(document, answer)] as const,
  )
  return `<h3 id="${operationId}">${escaped(summary)}</h3>
<p class="route"><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code></p>
${description === undefined ? '' : `<p>${prose(description)}</p>`}
<p>${whoMay(operation.security ?? document.security)}</p>
${parameters.length ? `<h4>Parameters</h4>${table(['Name', 'In', 'Type', 'What it is'], parameters.map(parameterRow))}` : ''}
${requestBody ? `<h4>Body</h4>${bodies(requestBody.content, 'Body', document)}` : ''}
<h4>Answers</h4>${table(
    ['Status', 'What it means', 'Body'],
    answers.map((answer) => answerRow(answer, errorsHref)),
  )}
${answers
  .filter(([status, { content }]) => status < '300' && content)
  .map(([status, { content = {} }]) => bodies(content, `${status}`, document))
  .join('')}`
}

/** Each body's type and an example of it. */
const bodies = (content: Record<string, Media>, what: string, document: ApiDocument): string =>
  Object.entries(content)
    .map(([type, media]) => {
      const example = exampleIn(document, media)
      return `<p>${code(type)}: ${typeOf(media.schema)}</p>${example === undefined ? '' : exampleFigure(type, example, what)}`
    })
    .join('')

function exampleFigure(type: string, example: unknown, what: string): string {
  const text =
    type === 'application/x-www-form-urlencoded'
      ? new URLSearchParams(example as Record<string, string>).toString().replaceAll('&', '\n&')
      : typeof example === 'string'
        ? example
        : JSON.stringify(example, null, 2)
  return figure({ text, caption: `Example: ${what}`, label: 'example' })
}

function whoMay([required]: readonly SecurityRequirement[]): string {
  if (required?.accessToken)
    return `Access token with the scope ${required.accessToken.map(code).join(', ')}.`
  if (required?.session) return 'Session of the workspace.'
  if (required?.client) return 'Id and secret, by HTTP Basic or in the body.'
  return 'No authentication.'
}

const parameterRow = ({ name, in: place, required, description = '', schema }: Parameter): string[] => [
  code(name),
  place,
  typeOf(schema) + (required ? '' : ', optional'),
  prose(description),
]

/** The name of an error leads to its explanation. */
function answerRow(
  [status, { description, content = {} }]: readonly [string, Answer],
  errorsHref: string,
): string[] {
  const schema = Object.values(content)[0]?.schema
  const anchorOf = 'application/json' in content ? oauthAnchor : problemAnchor
  const text = prose(description).replaceAll(/<code>(\w+)<\/code>/g, (html, name: string) =>
    name in PROBLEMS || name in OAUTH_ERRORS
      ? `<a href="${escaped(errorsHref)}#${anchorOf(name)}">${html}</a>`
      : html,
  )
  return [code(status), text, schema ? typeOf(schema) : '']
}

function schemaSection([name, schema]: [string, JsonSchema]): string {
  const { description } = schema
  return `<h3 id="schema-${escaped(name)}">${escaped(name)}</h3>
${typeof description === 'string' ? `<p>${prose(description)}</p>` : ''}${members(schema)}`
}

function members(schema: JsonSchema): string {
  const { properties, required } = schema as { properties?: Record<string, JsonSchema>; required?: string[] }
  if (!properties) return `<div>${typeOf(schema)}</div>`
  const rows = Object.entries(properties).map(([name, member]) => [
    code(name),
    typeOf(member) + (required?.includes(name) ? '' : ', optional'),
    typeof member.description === 'string' ? prose(member.description) : '',
  ])
  return table(['Member', 'Type', 'What it is'], rows)
}

/** A schema in a few words, as HTML. */
function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, oneOf, allOf, type, items, properties, format, ...limits } = schema
  const { minimum, maximum, minLength, maxLength } = limits
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
  }
  if (Array.isArray(allOf)) return allOf.map(typeOf).join(' and ')
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) return alternatives.map(typeOf).join(' or ')
  if (Array.isArray(values)) return values.map((value) => code(JSON.stringify(value))).join(', ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' or ')
  if (type === 'array') return `list of ${typeOf((items ?? {}) as JsonSchema)}`
  if (type === 'object' && properties) return `object ${members(schema)}`
  const bounds = [...between(minimum, maximum, ''), ...between(minLength, maxLength, ' characters')]
  return escaped([type ?? 'anything', ...(format ? [`(${format})`] : []), ...bounds].join(' '))
}

function between(low: unknown, high: unknown, unit: string): string[] {
  const above = typeof low === 'number' && Math.abs(low) < Number.MAX_SAFE_INTEGER ? low : undefined
  const below = typeof high === 'number' && high < Number.MAX_SAFE_INTEGER ? high : undefined
  if (above !== undefined && below !== undefined) return [`${above} to ${below}${unit}`]
  if (above !== undefined) return [`at least ${above}${unit}`]
  return below === undefined ? [] : [`at most ${below}${unit}`]
}

const slug = (text: string): string => `section-${text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
