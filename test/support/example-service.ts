import { createServer, type Server } from 'node:http'
import { type AccessTokenOptions, createAccessTokens } from '#shared/access-tokens/access-tokens.ts'
import { bearerOf } from '#shared/access-tokens/bearer.ts'
import { Problem } from '#shared/problems/problems.ts'

/** Another service of the company: `POST /{vendorId}/products` with a token that has the scope catalog:write. */
export function createExampleService(options: AccessTokenOptions): Server {
  const tokens = createAccessTokens(options)
  return createServer(async (request, response) => {
    try {
      const vendorId = request.url?.split('/')[1]
      const token = await tokens.admit(bearerOf(request), { scope: 'catalog:write', vendorId })
      response.writeHead(201).end(`added by ${token.clientId}`)
    } catch (error) {
      const { status, headers, detail } = error instanceof Problem ? error : new Problem('internal', '')
      response.writeHead(status, headers).end(detail)
    }
  })
}
