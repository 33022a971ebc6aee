import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { PROBLEMS } from '#shared/problems.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { closed } from '../support/api-document.ts'

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
        'POST /v1/oauth/token',
        'POST /v1/oauth/revoke',
        'GET /v1/oauth/jwks',
        'GET /.well-known/oauth-authorization-server',
        'GET /.well-known/openid-configuration',
        'GET /v1/analytics/{vendorId}/daily',
        'POST /v1/analytics/{vendorId}/events',
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
        'POST /v1/invitation/preview',
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
          ['If-None-Match', 'header', false],
          ['If-Match', 'header', false],
        ],
      )
      assert.deepEqual(Object.keys(daily.responses), [
        '200',
        '304',
        '400',
        '401',
        '403',
        '404',
        '412',
        '422',
        '429',
        '500',
        '502',
        '503',
        '504',
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

    it('gives every body and answer an example that its own schema allows', () => {
      const ajv = new Ajv2020({ strict: false })
      formats.default(ajv)
      ajv.addSchema({ $id: 'document', components: closed(document.components) })
      // biome-ignore lint/suspicious/noExplicitAny: operations of any shape are looked into.
      const operations = Object.values<any>(document.paths).flatMap((methods) => Object.values<any>(methods))
      for (const { operationId, requestBody = {}, responses } of operations) {
        // biome-ignore lint/suspicious/noExplicitAny: operations of any shape are looked into.
        for (const { content = {} } of [requestBody, ...Object.values<any>(responses)]) {
          // biome-ignore lint/suspicious/noExplicitAny: operations of any shape are looked into.
          for (const { schema, example } of Object.values<any>(content)) {
            const text = JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components')
            const validate = ajv.compile(JSON.parse(text))
            assert.ok(validate(example), `${operationId}: ${ajv.errorsText(validate.errors)}`)
          }
        }
      }
    })

    it('promises no path of this service that does not answer', async () => {
      for (const [path, methods] of Object.entries<object>(document.paths)) {
        if (path.startsWith('/v1/oauth') || path.includes('oauth-authorization-server')) continue
        if (path.includes('openid-configuration')) continue
        for (const method of Object.keys(methods)) {
          const { status } = await api.request(method.toUpperCase(), path.replaceAll(/[{}]/g, ''))
          assert.ok(status !== 404 && status !== 405, `${method} ${path} answered ${status}`)
        }
      }
    })

    it('names the four events, told apart by their type', () => {
      const { items } = document.components.schemas.AnalyticsEvents.properties.events
      assert.deepEqual(items.discriminator, {
        propertyName: 'type',
        mapping: {
          impression: '#/components/schemas/ImpressionEvent',
          click: '#/components/schemas/ClickEvent',
          order: '#/components/schemas/OrderEvent',
          boost_spend: '#/components/schemas/BoostSpendEvent',
        },
      })
      assert.deepEqual(document.components.schemas.ClickEvent.properties.type.enum, ['click'])
    })

    it('has no pattern beside a format', () => {
      const visit = (node: unknown): void => {
        if (typeof node !== 'object' || node === null) return
        assert.ok(!('pattern' in node && 'format' in node), JSON.stringify(node))
        Object.values(node).forEach(visit)
      }
      visit(document.components.schemas)
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

  for (const path of ['/openapi.json', '/docs']) {
    it(`sends ${path} compressed to whoever takes that, and not again while it is the same`, async () => {
      const read = (headers: Record<string, string>) => api.request('GET', path, { headers })
      const plain = await read({ 'accept-encoding': 'identity' })
      assert.equal(plain.headers.get('content-encoding'), null)
      const tags = [plain.headers.get('etag')]
      for (const encoding of ['br', 'gzip']) {
        const packed = await read({ 'accept-encoding': encoding })
        assert.equal(packed.headers.get('content-encoding'), encoding)
        assert.equal(packed.headers.get('vary'), 'Accept-Encoding')
        assert.equal(packed.text, plain.text)
        tags.push(packed.headers.get('etag'))
        const again = await read({ 'accept-encoding': encoding, 'if-none-match': String(tags.at(-1)) })
        assert.equal(again.status, 304)
        assert.equal(again.text, '')
      }
      assert.equal(new Set(tags).size, 3)
    })
  }

  it('answers /docs/ as /docs', async () => {
    const response = await api.request('GET', '/docs/')
    assert.equal(response.status, 200)
    assert.equal(response.text, (await api.request('GET', '/docs')).text)
  })
})
