import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { VERSION } from '#shared/process/version.ts'
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
const LIKE_GET = ['content-type', 'content-length', 'cache-control']
const POST_ROUTES = ['/v1/oauth/token', '/v1/oauth/revoke', '/v1/oauth/introspect']

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

  describe('GET /v1/oauth/jwks', () => {
    it('publishes the active and the standby public key, cacheable for 300 s', async () => {
      const { status, headers, json } = await auth.request('GET', '/v1/oauth/jwks')
      assert.equal(status, 200)
      assert.equal(headers.get('cache-control'), 'public, max-age=300')
      assert.equal(headers.get('content-type'), 'application/json')
      assert.equal(json.keys.length, 2)
      for (const key of json.keys)
        assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    })

    it('answers the same at /.well-known/jwks.json, where some libraries look', async () => {
      for (const method of ['GET', 'HEAD']) {
        const [keys, alias] = await Promise.all([raw(method, '/v1/oauth/jwks'), raw(method, JWKS_ALIAS)])
        assert.deepEqual([alias.status, alias.text], [200, keys.text])
        for (const name of [...LIKE_GET, 'etag', 'access-control-allow-origin'])
          assert.equal(alias.headers[name], keys.headers[name], name)
      }
    })
  })

  for (const path of ['/v1/oauth/jwks', JWKS_ALIAS, METADATA, OPENID_METADATA])
    it(`answers ${path} with 304 to its own tag, and 412 to another in If-Match (RFC 9110 §13.1)`, async () => {
      const ask = (headers: Record<string, string> = {}) => auth.request('GET', path, { headers })
      const tag = (await ask()).headers.get('etag') ?? ''
      assert.match(tag, /^"[\w-]{27}"$/)
      const { status, text, headers } = await ask({ 'If-None-Match': `"other", W/${tag}` })
      assert.deepEqual([status, text], [304, ''])
      const fields = ['etag', 'cache-control', 'content-length'].map((name) => headers.get(name))
      assert.deepEqual(fields, [tag, 'public, max-age=300', null])
      assert.equal((await ask({ 'If-None-Match': '"other"' })).status, 200)
      assert.equal((await ask({ 'If-Match': tag })).status, 200)
      assert.equal((await ask({ 'If-Match': '"other"' })).status, 412)
    })

  it('answers what apps/auth/openapi.json describes, and health checks', () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(auth.routes.filter((route) => !/^HEAD |z$/.test(route)).sort(), described.sort())
  })

  describe(`GET ${METADATA}`, () => {
    it('repeats the metadata for OpenID Connect Discovery, with two more members (RFC 8414 §5)', async () => {
      const { json } = await auth.request('GET', METADATA)
      const other = await auth.request('GET', OPENID_METADATA)
      assert.equal(other.status, 200)
      assert.deepEqual(other.json, {
        ...json,
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
      })
    })

    it('names the algorithms of the published keys, whatever the next key’s', async () => {
      await using other = await startAuth({ beside: auth, env: { SIGNING_ALG: 'RS256' } })
      const { json } = await other.request('GET', OPENID_METADATA)
      assert.deepEqual(json.id_token_signing_alg_values_supported, ['ES256'])
    })

    it('publishes metadata of what exists and nothing else (RFC 8414)', async () => {
      const { status, headers, json } = await auth.request('GET', METADATA)
      assert.equal(status, 200)
      assert.equal(headers.get('cache-control'), 'public, max-age=300')
      const secrets = ['client_secret_basic', 'client_secret_post']
      const methods = [...secrets, 'private_key_jwt']
      const algorithms = ['ES256', 'ES384', 'Ed25519', 'EdDSA', 'PS256', 'RS256']
      assert.deepEqual(json, {
        issuer: ISSUER,
        token_endpoint: `${ISSUER}/v1/oauth/token`,
        token_endpoint_auth_methods_supported: methods,
        token_endpoint_auth_signing_alg_values_supported: algorithms,
        revocation_endpoint: `${ISSUER}/v1/oauth/revoke`,
        revocation_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_signing_alg_values_supported: algorithms,
        introspection_endpoint: `${ISSUER}/v1/oauth/introspect`,
        introspection_endpoint_auth_methods_supported: secrets,
        revocations_uri: `${ISSUER}/v1/oauth/revocations`,
        jwks_uri: `${ISSUER}/v1/oauth/jwks`,
        grant_types_supported: ['client_credentials'],
        response_types_supported: [],
        scopes_supported: [...SCOPES],
        service_documentation: `${ISSUER}/docs`,
        protected_resources: [API_RESOURCE],
      })
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

  describe('methods', () => {
    const METHODS = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']
    for (const path of [...GET_ROUTES, ...POST_ROUTES]) {
      const allowed = POST_ROUTES.includes(path) ? ['POST'] : ['GET', 'HEAD']
      for (const method of METHODS.filter((name) => !allowed.includes(name)))
        it(`answers ${method} ${path} with 405 and Allow`, async () => {
          const preflight = { 'access-control-request-method': 'POST', origin: 'https://x' }
          const answer = await raw(method, path, preflight)
          assert.deepEqual([answer.status, answer.headers.allow], [405, allowed.join(', ')])
          assert.ok(!Object.keys(answer.headers).some((name) => name.startsWith('access-control')))
          if (method !== 'HEAD') assert.equal(JSON.parse(answer.text).error, 'method_not_allowed')
        })
    }
    for (const path of GET_ROUTES)
      it(`answers HEAD ${path} like GET without the body (RFC 9110 §9.3.2)`, async () => {
        const [head, get] = [await raw('HEAD', path), await raw('GET', path)]
        assert.deepEqual([head.status, head.text], [get.status, ''])
        for (const name of LIKE_GET) assert.equal(head.headers[name], get.headers[name])
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

  it('answers GET /healthz with 200', async () =>
    assert.deepEqual((await auth.request('GET', '/healthz')).json, { status: 'ok', version: VERSION }))
  it('answers GET /readyz with 200 once keys are loaded', async () =>
    assert.deepEqual((await auth.request('GET', '/readyz')).json, { status: 'ready' }))

  it('takes the request id of a trusted proxy, if it sends one', async () => {
    await using trusting = await startAuth({ beside: auth, env: { TRUSTED_PROXIES: '127.0.0.1' } })
    const { headers } = await trusting.request('GET', '/healthz', { headers: { 'x-request-id': 'gw-1' } })
    assert.equal(headers.get('x-request-id'), 'gw-1')
  })
})
