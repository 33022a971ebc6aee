import { createHash } from 'node:crypto'
import { PROBLEMS, type ProblemCode } from '#shared/problems.ts'
import type { Answer, ApiDocument, JsonSchema, Operation, Parameter } from './openapi.ts'
import { problemAdvice } from './problem-advice.ts'
import { DOCS_STYLE } from './style.ts'

/** The documentation page, and a policy that allows nothing but its own style. */
export interface DocsPage {
  html: string
  contentSecurityPolicy: string
}

/** One page without scripts or external resources, made from the OpenAPI document once at start. */
export function createDocsPage(document: ApiDocument): DocsPage {
  const styleHash = createHash('sha256').update(DOCS_STYLE).digest('base64')
  return {
    html: pageOf(document),
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

function pageOf(document: ApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')
  const { title, description } = document.info
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}: API</title>
<style>${DOCS_STYLE}</style>
</head>
<body>
<header><h1>${escaped(title)}</h1><p>${escaped(description)}</p></header>
<nav aria-label="Contents"><ul>
<li><a href="#authentication">Authentication</a></li>
${[...byTag].map(([tag, entries]) => `<li><a href="#${slug(tag)}">${escaped(tag)}</a><ul>${entries.map(contentsEntry).join('')}</ul></li>`).join('\n')}
<li><a href="#schemas">Schemas</a></li>
<li><a href="#problems">Problems</a></li>
</ul></nav>
<main>
${authentication(document)}
${[...byTag].map(([tag, entries]) => `<section id="${slug(tag)}"><h2>${escaped(tag)}</h2>${entries.map(operationSection).join('\n')}</section>`).join('\n')}
<section id="schemas"><h2>Schemas</h2>${Object.entries(document.components.schemas).map(schemaSection).join('\n')}</section>
<section id="problems"><h2>Problems</h2>
<p>Errors are <code>application/problem+json</code> (RFC 9457). Rely on <code>code</code>; <code>detail</code> is for people.</p>
${(Object.keys(PROBLEMS) as ProblemCode[]).map(problemSection).join('\n')}</section>
</main>
</body>
</html>
`
}

interface Entry {
  path: string
  method: string
  operation: Operation
}

const contentsEntry = ({ operation }: Entry): string =>
  `<li><a href="#${operation.operationId}">${escaped(operation.summary)}</a></li>`

function authentication(document: ApiDocument): string {
  const base = document.servers[0]?.url ?? ''
  const flows = document.components.securitySchemes.accessToken?.flows as
    | { clientCredentials: { tokenUrl: string; scopes: Record<string, string> } }
    | undefined
  const { tokenUrl = '', scopes = {} } = flows?.clientCredentials ?? {}
  const example = [
    `curl -X POST ${tokenUrl} \\`,
    '  -d grant_type=client_credentials -d client_id=$CLIENT_ID \\',
    '  -d client_secret=$CLIENT_SECRET -d scope=analytics:read',
    '',
    `curl ${base}/v1/analytics/$VENDOR_ID/daily \\`,
    '  -H "Authorization: Bearer $ACCESS_TOKEN"',
  ].join('\n')
  const rows = Object.entries(scopes).map(([scope, text]) => [code(scope), escaped(text)])
  return `<section id="authentication"><h2>Authentication</h2>
<p>A company's own systems use an OAuth 2.0 client: they trade its id and secret for an access token, which is
valid for 15 minutes, and send that token. When it expires, they ask for a new one; there is no refresh token. Keep the
secret on a server, and never put it in a browser, a mobile app, source control, a log or a callback.</p>
<pre tabindex="0"><code>${escaped(example)}</code></pre>
${table(['Scope', 'What it allows'], rows)}
<p>The workspace uses a session token instead. Neither kind of token is accepted in place of the other.</p></section>`
}

function operationSection({ path, method, operation }: Entry): string {
  const { operationId, summary, description, requestBody, parameters, responses } = operation
  const body = requestBody?.content['application/json']?.schema
  return `<article id="${operationId}"><h3>${escaped(summary)}</h3>
<p class="route"><b>${method}</b> <code>${escaped(path)}</code></p>
${description === undefined ? '' : `<p>${prose(description)}</p>`}
<p>${whoMay(operation)}</p>
${parameters.length ? `<h4>Parameters</h4>${table(['Name', 'In', 'Type', 'What it is'], parameters.map(parameterRow))}` : ''}
${body ? `<h4>Body</h4><p>${typeOf(body)}</p>` : ''}
<h4>Answers</h4>${table(['Status', 'What it means', 'Body'], Object.entries(responses).map(answerRow))}</article>`
}

function whoMay({ security: [required] }: Operation): string {
  if (required?.accessToken)
    return `Access token with the scope ${required.accessToken.map(code).join(', ')}.`
  if (required?.session) return 'Session token.'
  return 'No authentication.'
}

const parameterRow = ({ name, in: place, required, description = '', schema }: Parameter): string[] => [
  code(name),
  place,
  typeOf(schema) + (required ? '' : ', optional'),
  prose(description),
]

function answerRow([status, { description, content = {} }]: [string, Answer]): string[] {
  const isProblem = 'application/problem+json' in content
  const schema = content['application/json']?.schema
  const text = isProblem ? linkedCodes(description) : prose(description)
  return [
    code(status),
    text,
    isProblem ? '<a href="#schema-Problem">Problem</a>' : schema ? typeOf(schema) : '',
  ]
}

const linkedCodes = (text: string): string =>
  escaped(text).replaceAll(/`(\w+)`/g, '<a href="#problem-$1"><code>$1</code></a>')

function schemaSection([name, schema]: [string, JsonSchema]): string {
  const { description } = schema
  return `<article id="schema-${escaped(name)}"><h3>${escaped(name)}</h3>
${typeof description === 'string' ? `<p>${prose(description)}</p>` : ''}${members(schema)}</article>`
}

function members(schema: JsonSchema): string {
  const { properties, required } = schema as { properties?: Record<string, JsonSchema>; required?: string[] }
  if (!properties) return `<p>${typeOf(schema)}</p>`
  const rows = Object.entries(properties).map(([name, member]) => [
    code(name),
    typeOf(member) + (required?.includes(name) ? '' : ', optional'),
    typeof member.description === 'string' ? prose(member.description) : '',
  ])
  return table(['Member', 'Type', 'What it is'], rows)
}

/** A schema in a few words, as HTML. */
function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, oneOf, type, items, properties, format, minimum, maximum, minLength, maxLength } =
    schema
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (typeof $ref === 'string') {
    const name = $ref.slice($ref.lastIndexOf('/') + 1)
    return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
  }
  const alternatives = anyOf ?? oneOf
  if (Array.isArray(alternatives)) return alternatives.map(typeOf).join(' or ')
  if (Array.isArray(values)) return values.map((value) => code(JSON.stringify(value))).join(', ')
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

function problemSection(problem: ProblemCode): string {
  const { status, title } = PROBLEMS[problem]
  return `<article id="problem-${problem}"><h3>${code(problem)}</h3>
<p><b>${status}</b> ${escaped(title)}.</p><p>${escaped(problemAdvice[problem])}</p></article>`
}

const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="table" tabindex="0" role="group" aria-label="${escaped(headings.join(', '))}"><table><thead><tr>${headings
    .map((heading) => `<th scope="col">${escaped(heading)}</th>`)
    .join('')}</tr></thead><tbody>${rows
    .map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`)
    .join('')}</tbody></table></div>`

const code = (text: string): string => `<code>${escaped(text)}</code>`
const slug = (text: string): string => `section-${text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

/** Text in which `this` is code. */
const prose = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
