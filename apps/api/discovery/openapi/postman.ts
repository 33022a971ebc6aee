import type { ApiDocument, Operation, Parameter } from './document-shape.ts'
import { exampleIn, operationsByTag, type PathOperation, parameterOf } from './shared-components.ts'

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'
/** Its operations are those of the issuer. */
const OAUTH_TAG = 'OAuth'

/** The member of an operation's answer that later requests need. */
const KEPT: Record<string, string> = {
  issueToken: 'access_token',
  signIn: 'sessionToken',
  createClient: 'clientId',
}

/** The time in an example, which would soon be too long ago. */
const TIME = /"\d{4}-\d\d-\d\dT[\d:.]+Z"/g

/**
 * Returns the document as a Postman collection (v2.1): a folder for each tag, a request for each operation. Secrets and
 * the parameters of paths are variables of the collection. A token request keeps its token for the requests after it.
 */
export function postmanCollection(document: ApiDocument, issuer: string): object {
  const byTag = operationsByTag(document)
  const inPath = [...byTag.values()]
    .flat()
    .flatMap(({ operation }) => parametersOf(document, operation, 'path'))
  return {
    info: {
      name: document.info.title,
      description: `${document.info.description} Set client_id, client_secret, scope and vendorId from your .env file, and send the token request: it keeps the token for the others.`,
      schema: SCHEMA,
    },
    item: document.tags.map(({ name, description }) => ({
      name,
      description,
      item: (byTag.get(name) ?? []).map((entry) => requestItem(document, entry)),
    })),
    variable: Object.entries({
      base_url: document.servers[0]?.url,
      issuer,
      client_id: '',
      client_secret: '',
      scope: 'analytics:read',
      access_token: '',
      sessionToken: '',
      ...Object.fromEntries(inPath.map(({ name, schema }) => [name, exampleOf(schema)])),
    }).map(([key, value]) => ({ key, value })),
  }
}

function requestItem(document: ApiDocument, { path, method, operation }: PathOperation): object {
  const server = operation.tags[0] === OAUTH_TAG ? '{{issuer}}' : '{{base_url}}'
  const filled = path.replaceAll(/\{(\w+)\}/g, '{{$1}}')
  const query = parametersOf(document, operation, 'query').map(optionalField)
  const kept = KEPT[operation.operationId]
  return {
    name: operation.summary,
    request: {
      method: method.toUpperCase(),
      description: operation.description,
      auth: authOf(operation.security ?? document.security),
      header: parametersOf(document, operation, 'header').map(optionalField),
      url: {
        raw: server + filled,
        host: [server],
        path: filled.slice(1).split('/'),
        ...(query.length > 0 && { query }),
      },
      ...bodyOf(document, operation),
    },
    ...(kept && {
      event: [
        {
          listen: 'test',
          script: {
            type: 'text/javascript',
            exec: [
              `if (pm.response.code < 300) pm.collectionVariables.set('${kept}', pm.response.json().${kept})`,
            ],
          },
        },
      ],
    }),
  }
}

function authOf([required]: ApiDocument['security']): object {
  if (required?.client)
    return { type: 'basic', basic: fields({ username: '{{client_id}}', password: '{{client_secret}}' }) }
  if (required?.accessToken) return { type: 'bearer', bearer: fields({ token: '{{access_token}}' }) }
  if (required?.session) return { type: 'bearer', bearer: fields({ token: '{{sessionToken}}' }) }
  return { type: 'noauth' }
}

const fields = (values: Record<string, string>) =>
  Object.entries(values).map(([key, value]) => ({ key, value, type: 'string' }))

function bodyOf(document: ApiDocument, { requestBody }: Operation): object {
  const [[type, media] = []] = Object.entries(requestBody?.content ?? {})
  if (!type || !media) return {}
  const example = exampleIn(document, media)
  const raw = () => JSON.stringify(example, null, 2).replaceAll(TIME, '"{{$isoTimestamp}}"')
  const form = () => ({
    ...(example as Record<string, string>),
    ...('scope' in (example as object) && { scope: '{{scope}}' }),
  })
  const body = type.endsWith('json')
    ? { mode: 'raw', raw: raw(), options: { raw: { language: 'json' } } }
    : { mode: 'urlencoded', urlencoded: fields(form()) }
  return { body }
}

const parametersOf = (document: ApiDocument, { parameters = [] }: Operation, place: Parameter['in']) =>
  parameters.map((each) => parameterOf(document, each)).filter((each) => each.in === place)

const optionalField = ({ name, description, required, schema }: Parameter) => ({
  key: name,
  value: exampleOf(schema),
  description,
  disabled: !required,
})

const exampleOf = ({ examples, default: value = '' }: Parameter['schema']): string =>
  String(Array.isArray(examples) ? examples[0] : value)
