import { createServer } from 'node:http'
import { createAccessTokens, TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import { createRevocationFeed } from '#shared/access-tokens/revocation-feed.ts'
import { createSigningKeys } from '#shared/access-tokens/signing-keys.ts'

/*
 * A foreign service that installed the package and knows nothing but a base URL. To a token for
 * `analytics:read` it answers the same path as our own API.
 */
const { BASE_URL: base = '', PORT } = process.env

const keys = createSigningKeys({ url: `${base}/v1/oauth/jwks` })
const revocation = createRevocationFeed({ url: `${base}/v1/oauth/revocations`, issuer: base, keys })
await Promise.all([keys.start(), revocation.start()])
const tokens = createAccessTokens({ keys, revocation, issuer: base, resource: base })

createServer(async (request, response) => {
  if (request.url === '/readyz') return response.writeHead(revocation.usable() ? 200 : 503).end()
  try {
    const [, , , vendorId] = request.url?.split('/') ?? []
    await tokens.admit(request, { scope: 'analytics:read', vendorId })
    response.writeHead(200).end('{}')
  } catch (error) {
    if (!(error instanceof TokenRefused)) throw error
    response.writeHead(error.status, error.headers).end(JSON.stringify({ detail: error.detail }))
  }
}).listen(Number(PORT), '127.0.0.1')
