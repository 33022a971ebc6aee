import description from '../../../auth/openapi.json' with { type: 'json' }
import type { ApiDocument } from './document-shape.ts'

interface AuthServerDescription {
  paths: ApiDocument['paths']
  components: Pick<ApiDocument['components'], 'schemas' | 'parameters' | 'responses'>
}

/**
 * Returns a copy of the authorization server's part of the OpenAPI document, with its addresses filled in. It
 * is JSON because this service may load none of that server's code.
 */
export function describeAuthServer(server: { issuer: string; resource: string }): AuthServerDescription {
  return JSON.parse(JSON.stringify(description), (_, value) =>
    typeof value === 'string'
      ? value.replace(/^\{(issuer|resource)\}/, (_, name: keyof typeof server) => server[name])
      : value,
  )
}
