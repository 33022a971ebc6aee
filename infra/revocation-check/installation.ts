import got, { type Got } from 'got'

/** What the check knows of an installation. */
export interface Installation {
  metadata: {
    issuer: string
    token_endpoint: string
    revocation_endpoint: string
    introspection_endpoint?: string
    revocations_uri?: string
    jwks_uri: string
  }
  client: { id: string; secret: string }
  /** Never throws for a status, gives up after 10 s, and follows no redirect. */
  http: Got
}

/** What a daily read needs. */
const SCOPE = 'analytics:read'
const TIMEOUT_MS = 10_000

/** Reads the metadata (RFC 8414) below a base URL. @throws Error that says what is wrong with the URL. */
export async function discover(baseUrl: string, client: Installation['client']): Promise<Installation> {
  const http = got.extend({
    throwHttpErrors: false,
    followRedirect: false,
    retry: { limit: 0 },
    timeout: { request: TIMEOUT_MS },
  })
  const url = `${baseUrl}/.well-known/oauth-authorization-server`
  const { statusCode, body } = await http(url)
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}, not 200.`)
  const metadata = JSON.parse(body) as Installation['metadata']
  // RFC 8414 §3.3. The secret goes to the endpoints that this document names.
  if (metadata.issuer !== baseUrl)
    throw new Error(`${url} is of another issuer, ${metadata.issuer}. Give that as the base URL.`)
  return { metadata, client, http }
}

/** @throws Error with what the token endpoint said. */
export async function getToken({ metadata, client, http }: Installation): Promise<string> {
  const { statusCode, body } = await http.post(metadata.token_endpoint, {
    form: {
      grant_type: 'client_credentials',
      scope: SCOPE,
      client_id: client.id,
      client_secret: client.secret,
    },
  })
  if (statusCode !== 200) throw new Error(`The token endpoint answered ${statusCode}: ${body.slice(0, 200)}`)
  return JSON.parse(body).access_token
}

/** RFC 7009, by the client itself. @throws Error with what the revocation endpoint said. */
export async function revokeToken({ metadata, client, http }: Installation, token: string): Promise<void> {
  const { statusCode, body } = await http.post(metadata.revocation_endpoint, {
    form: { token, client_id: client.id, client_secret: client.secret },
  })
  if (statusCode !== 200)
    throw new Error(`The revocation endpoint answered ${statusCode}: ${body.slice(0, 200)}`)
}
