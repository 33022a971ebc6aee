import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { describeAuthServer } from '../../apps/api/discovery/openapi/auth-server.ts'
import type { AnswerObject } from '../../apps/api/discovery/openapi/document-shape.ts'
import { sharedAuth, startAuth } from '../support/auth.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'

const METADATA = '/.well-known/oauth-authorization-server'
const OPENID_METADATA = '/.well-known/openid-configuration'
const JWKS_ALIAS = '/.well-known/jwks.json'
const GET_ROUTES = [
  ...['/v1/oauth/jwks', JWKS_ALIAS, '/v1/oauth/revocations', METADATA, OPENID_METADATA],
  ...['/healthz', '/readyz'],
]

describe('what answers on the authorization server', () => {
  const auth = sharedAuth()
  const description = describeAuthServer({ issuer: ISSUER, resource: API_RESOURCE })

  /** Sends a request that fetch would tidy up. */
  async function raw(method: string, path: string, headers: Record<string, string> = {}) {
    const { hostname, port } = new URL(auth.url)
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { status: response.statusCode, headers: response.headers, text: await text(response) }
  }

  it('answers what apps/auth/openapi.json describes, and health checks', () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(auth.routes.filter((route) => !/^HEAD |z$/.test(route)).sort(), described.sort())
  })

  describe(`GET ${METADATA}`, () => {
    it('names the algorithms of the published keys, whatever the next key’s', async () => {
      await using other = await startAuth({ beside: auth, env: { SIGNING_ALG: 'RS256' } })
      const { json } = await other.request('GET', OPENID_METADATA)
      assert.deepEqual(json.id_token_signing_alg_values_supported, ['ES256'])
    })

    for (const path of [METADATA, OPENID_METADATA])
      it(`is the example of ${path} in apps/auth/openapi.json`, async () => {
        const response = description.paths[path]?.get?.responses['200'] as AnswerObject
        const { json } = await auth.request('GET', path)
        assert.deepEqual(response.content?.['application/json']?.example, json)
      })

    const poison = {
      host: 'evil.test',
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.test',
    }
    for (const path of GET_ROUTES)
      it(`lets no header decide what ${path} says`, async () => {
        const answer = await raw('GET', path, poison)
        assert.equal(answer.text, (await raw('GET', path)).text)
        assert.ok(!JSON.stringify(answer).includes('evil.test'))
      })
  })

  describe('paths', () => {
    const others = [
      '/v1/oauth/token/',
      '/V1/OAUTH/TOKEN',
      '//v1/oauth/token',
      '/v1/oauth/../oauth/token',
      '/v1/oauth/%74oken',
      '/v1/oauth/token;x=1',
      '*',
      '/',
      // As oidc-provider names its own.
      '/token',
      '/session/end',
      '/__proto__',
    ]
    for (const path of others)
      for (const method of ['GET', 'POST', 'OPTIONS'])
        it(`answers ${method} ${path} with 404`, async () => {
          const { status, headers, text } = await raw(method, path)
          assert.deepEqual([status, JSON.parse(text)], [404, { error: 'not_found' }])
          assert.ok(headers['x-request-id'])
        })
  })
})
