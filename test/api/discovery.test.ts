import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { PROBLEMS } from '#shared/problems.ts'
import { startApi, type TestApi } from '../support/api.ts'

describe('discovery', () => {
  let api: TestApi
  before(async () => {
    api = await startApi()
  })
  after(() => api.stop())

  describe('GET /.well-known/oauth-protected-resource (RFC 9728)', () => {
    it('names the resource, who issues its tokens, and the scopes', async () => {
      const response = await api.request('GET', '/.well-known/oauth-protected-resource', {
        headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
      })
      assert.equal(response.status, 200)
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(response.json, {
        resource: 'https://api.test',
        authorization_servers: ['https://issuer.test'],
        scopes_supported: SCOPES,
        bearer_methods_supported: ['header'],
        resource_name: 'Integration Access Service',
        resource_documentation: 'https://api.test/docs',
      })
    })

    it('is also where §3.1 puts it for a resource with a path, which the challenge names', async () => {
      const behind = await startApi({ beside: api, env: { API_RESOURCE: 'https://api.test/integrations' } })
      const response = await behind.request('GET', '/.well-known/oauth-protected-resource/integrations')
      assert.equal(response.json.resource, 'https://api.test/integrations')
      const challenge = (await behind.request('GET', '/v1/analytics/ven_a/daily')).headers.get(
        'www-authenticate',
      )
      assert.match(
        challenge ?? '',
        /resource_metadata="https:\/\/api\.test\/\.well-known\/oauth-protected-resource\/integrations"/,
      )
      await behind.stop()
    })
  })

  describe('GET /openapi.json', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document of any shape is looked into.
    let document: any
    before(async () => {
      document = (await api.request('GET', '/openapi.json')).json
    })

    it('is OpenAPI 3.1 for this server', () => {
      assert.equal(document.openapi, '3.1.0')
      assert.deepEqual(document.servers, [{ url: 'https://api.test' }])
    })

    it('describes every route of the contract', () => {
      const routes = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      )
      for (const route of [
        'GET /v1/analytics/{vendorId}/daily',
        'POST /v1/session',
        'GET /v1/session',
        'DELETE /v1/session',
        'GET /v1/vendor/{vendorId}/oauth-clients',
        'POST /v1/vendor/{vendorId}/oauth-clients',
        'GET /v1/vendor/{vendorId}/oauth-clients/{clientId}',
        'POST /v1/vendor/{vendorId}/oauth-clients/{clientId}/revoke',
        'POST /v1/analytics/{vendorId}/events',
        'GET /v1/sessions',
        'POST /v1/invitation',
        'PATCH /v1/vendor/{vendorId}/oauth-clients/{clientId}',
        'GET /v1/vendor/{vendorId}/oauth-clients/{clientId}/usage',
        'GET /v1/vendor/{vendorId}/refusals',
        'GET /v1/vendor/{vendorId}/refusals/{requestId}',
        'GET /v1/vendor/{vendorId}/people',
        'POST /v1/vendor/{vendorId}/people',
        'PATCH /v1/vendor/{vendorId}/people/{userId}',
        'DELETE /v1/vendor/{vendorId}/people/{userId}',
        'GET /v1/vendor/{vendorId}/callback-url',
        'PATCH /v1/vendor/{vendorId}/callback-url',
        'POST /v1/vendor/{vendorId}/callback-test',
        'GET /v1/vendor/{vendorId}/analytics/daily',
        'GET /v1/vendor/{vendorId}/activity',
        'GET /.well-known/oauth-protected-resource',
      ]) {
        assert.ok(routes.includes(route), route)
      }
    })

    it('resolves every reference that it makes, and names every operation once', () => {
      const text = JSON.stringify(document)
      for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
        assert.ok(document.components.schemas[name], name)
      }
      assert.equal(text.includes('$defs'), false)
      const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id)
      assert.equal(new Set(ids).size, ids.length)
    })

    it('says what a route asks for: the same that the route enforces', () => {
      const daily = document.paths['/v1/analytics/{vendorId}/daily'].get
      assert.deepEqual(daily.security, [{ accessToken: ['analytics:read'] }])
      assert.deepEqual(
        daily.parameters.map(({ name, in: place, required }: Record<string, unknown>) => [
          name,
          place,
          required,
        ]),
        [
          ['vendorId', 'path', true],
          ['from', 'query', false],
          ['to', 'query', false],
        ],
      )
      assert.deepEqual(Object.keys(daily.responses), [
        '200',
        '304',
        '400',
        '401',
        '403',
        '422',
        '429',
        '500',
        '503',
      ])
      const create = document.paths['/v1/vendor/{vendorId}/oauth-clients'].post
      assert.deepEqual(create.security, [{ session: [] }, { sessionCookie: [] }])
      assert.deepEqual(create.requestBody.content['application/json'].schema, {
        $ref: '#/components/schemas/NewOAuthClient',
      })
      const { properties, required, additionalProperties } = document.components.schemas.NewOAuthClient
      assert.deepEqual(required, ['name', 'scopes'])
      assert.equal(additionalProperties, false)
      assert.equal(properties.name.maxLength, 100)
      assert.deepEqual(document.components.schemas.Scope.enum, SCOPES)
      const list = document.paths['/v1/vendor/{vendorId}/oauth-clients'].get
      const limit = list.parameters.find(({ name }: { name: string }) => name === 'limit')
      assert.deepEqual(
        {
          type: limit.schema.type,
          minimum: limit.schema.minimum,
          maximum: limit.schema.maximum,
          default: limit.schema.default,
        },
        { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      )
    })

    it('names every problem code', () => {
      assert.deepEqual(document.components.schemas.Problem.properties.code.enum, Object.keys(PROBLEMS))
    })
  })

  describe('GET /docs', () => {
    let html: string
    let policy: string
    before(async () => {
      const response = await api.request('GET', '/docs')
      assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
      html = response.text
      policy = response.headers.get('content-security-policy') ?? ''
    })

    it('answers the type URL of every problem', () => {
      for (const code of Object.keys(PROBLEMS)) assert.ok(html.includes(`id="problem-${code}"`), code)
    })

    it('has a target for every link in it, and no id twice', () => {
      const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.equal(new Set(ids).size, ids.length)
      for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) assert.ok(ids.includes(target), target)
    })

    it('runs and fetches nothing: no script, no third party, only its own style', () => {
      const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
      const hash = createHash('sha256').update(style).digest('base64')
      assert.equal(
        policy,
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
      assert.doesNotMatch(
        html,
        /<script|<link|<img|<iframe|\son\w+=|\sstyle=|javascript:|src=|@import|url\(/i,
      )
      for (const [, href = ''] of html.matchAll(/href="([^"]*)"/g)) assert.match(href, /^#/)
    })

    it('closes every element that it opens', () => {
      const open: string[] = []
      for (const [, close, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
        if (name === 'meta') continue
        if (close) assert.equal(open.pop(), name)
        else open.push(name)
      }
      assert.deepEqual(open, [])
    })
  })

  for (const path of ['/.well-known/oauth-protected-resource', '/openapi.json', '/docs']) {
    it(`needs no token at ${path}, and may be cached`, async () => {
      const response = await api.request('GET', path)
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('cache-control'), 'public, max-age=300')
    })
  }
})
