import description from '../../../auth/openapi.json' with { type: 'json' }
import type { ApiDocument } from './document-shape.ts'

interface AuthServerDescription {
  paths: ApiDocument['paths']
  components: Pick<ApiDocument['components'], 'schemas' | 'parameters' | 'responses'>
}

/**
 * Returns a new copy of the authorization server's part of the OpenAPI document, with its addresses. The server runs
 * apart from this service, which loads none of its code: its routes are described in JSON.
 */
export function describeAuthServer(server: { issuer: string; resource: string }): AuthServerDescription {
  return JSON.parse(JSON.stringify(description), (_, value) =>
    typeof value === 'string'
      ? value.replace(/^\{(issuer|resource)\}/, (_, name: keyof typeof server) => server[name])
      : value,
  )
}
