import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { SCOPES } from '#shared/oauth/scopes.ts'
import { OAUTH_ERRORS } from '../../apps/api/discovery/docs/errors.ts'
import type { Operation } from '../../apps/api/discovery/openapi/document-shape.ts'
import { findExample, resolveAnswer } from '../../apps/api/discovery/openapi/shared-components.ts'
import { PROBLEMS } from '../../apps/api/problems/problems.ts'
import { DOCS, docsOfProblem, docsOfRefusal, docsOfScope } from '../../apps/workspace/src/ui/docs.ts'
import { sharedApi } from '../support/api.ts'
import { closed } from '../support/api-document.ts'
import { API_RESOURCE } from '../support/issuer.ts'

/** Links of the pages to what is no page. */
const ELSEWHERE =
  /^\/(favicon\.svg)?$|^https:\/\/(api\.test\/explain$|(www\.npmjs\.com|pypi\.org|pkg\.go\.dev)\/)/
/** Tools that resolve every reference at once take seconds for 300 KB. */
const DOCUMENT_MAX_BYTES = 145_000

describe('discovery', () => {
  const api = sharedApi()
  /** An API whose own address has a path. */
  const behind = sharedApi({ beside: api, env: { API_RESOURCE: `${API_RESOURCE}/integrations` } })

  it('serves its metadata where RFC 9728 §3.1 puts it for a resource with a path, as the challenge says', async () => {
    const path = '/.well-known/oauth-protected-resource/integrations'
    assert.equal((await behind.request('GET', path)).json.resource, `${API_RESOURCE}/integrations`)
    const { headers } = await behind.request('GET', '/v1/analytics/ven_a/daily')
    const challenge = headers.get('www-authenticate') ?? ''
    assert.ok(challenge.includes(`resource_metadata="${API_RESOURCE}${path}"`), challenge)
  })

  describe('GET /openapi.json', () => {
    // biome-ignore lint/suspicious/noExplicitAny: a document of any shape is looked into.
    let document: any
    before(async () => {
      document = (await api.request('GET', '/openapi.json')).json
    })

    it('keeps the document small: a parameter or an error of several operations appears once', () => {
      const bytes = JSON.stringify(document).length
      assert.ok(bytes < DOCUMENT_MAX_BYTES, `${bytes} bytes`)
      assert.ok(!JSON.stringify(document.paths).includes('"name":"vendorId"'))
      const { responses } = document.components
      assert.deepEqual(Object.keys(responses.not_found.content), ['application/problem+json'])
      assert.deepEqual(Object.keys(responses.OAuth_401_invalid_client.content), ['application/json'])
    })

    it('gives every body and answer an example that its own schema allows', () => {
      const ajv = new Ajv2020({ strict: false })
      formats.default(ajv)
      ajv.addSchema({ $id: 'document', components: closed(document.components, document) })
      const validators = new Map<string, ValidateFunction>()
      const paths = Object.values<Record<string, Operation>>(document.paths)
      const operations = paths.flatMap((methods) => Object.values(methods))
      for (const { operationId, requestBody, responses } of operations) {
        const answers = Object.values(responses).map((answer) => resolveAnswer(document, answer))
        for (const { content = {} } of [requestBody ?? {}, ...answers])
          for (const media of Object.values(content)) {
            const example = findExample(document, media)
            assert.notEqual(example, undefined, operationId)
            const schema = JSON.stringify(closed(media.schema, document))
            const text = schema.replaceAll('"#/components', '"document#/components')
            const validate = validators.get(text) ?? ajv.compile(JSON.parse(text))
            validators.set(text, validate)
            assert.ok(validate(example), `${operationId}: ${ajv.errorsText(validate.errors)}`)
          }
      }
    })

    it('has an example of a new client that any company may send', async () => {
      const { content } = document.paths['/v1/vendor/{vendorId}/oauth-clients'].post.requestBody
      const body = findExample(document, content['application/json'])
      const { status, text } = await (await api.createOwner()).request('POST', 'oauth-clients', { body })
      assert.equal(status, 201, text)
    })

    it('has examples for the OAuth endpoints that can be sent with HTTP Basic, which takes no other credentials', () => {
      for (const path of ['/v1/oauth/token', '/v1/oauth/revoke', '/v1/oauth/introspect']) {
        const { security, requestBody } = document.paths[path].post
        assert.deepEqual(security[0], { clientBasic: [] })
        const example = findExample(document, requestBody.content['application/x-www-form-urlencoded'])
        assert.doesNotMatch(Object.keys(example as object).join(' '), /\bclient_/)
      }
    })
  })

  describe('GET /docs', () => {
    const pages = new Map<string, string>()
    let policy: string
    /** Every page that can be reached from the first one. */
    before(async () => {
      const left = ['/docs']
      for (const path of left) {
        const response = await api.request('GET', path)
        assert.equal(response.status, 200, path)
        assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
        policy = response.headers.get('content-security-policy') ?? ''
        pages.set(path, response.text)
        for (const href of hrefsOf(response.text)) {
          const target = href.split('#', 1)[0] ?? ''
          if (/^\/docs[^.]*$/.test(target) && !left.includes(target)) left.push(target)
        }
      }
    })

    const hrefsOf = (html: string) =>
      [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, href = '']) => href)
    const idsOf = (html = '') => [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)

    it('serves a page for each topic, at a stable address', () =>
      assert.deepEqual([...pages.keys()].sort(), [
        '/docs',
        ...'analytics changelog errors events found-secrets introspection libraries private-key rate-limits reference'
          .split(' ')
          .map((topic) => `/docs/${topic}`),
        ...'activity analytics callback clients discovery oauth people session'
          .split(' ')
          .map((tag) => `/docs/reference/${tag}`),
        ...'revocation rotation scopes security token verify verify-go verify-java verify-node verify-proxies verify-python verify-rules versioning webhooks workload-identity workload-platforms'
          .split(' ')
          .map((topic) => `/docs/${topic}`),
      ]))

    it('answers the type URL of every problem, and explains every error and every scope', () => {
      const errors = idsOf(pages.get('/docs/errors'))
      const problems = errors.flatMap((id) => /^problem-(.*)/.exec(id)?.[1] ?? [])
      assert.deepEqual(problems.sort(), Object.keys(PROBLEMS).sort())
      for (const [code, { status }] of Object.entries(PROBLEMS)) {
        const heading = `href="#problem-${code}"><code>${code}</code> ${status}</a></h3>`
        const [, causeAndCure = ''] = (pages.get('/docs/errors') ?? '').split(heading)
        assert.match(causeAndCure, /^\s*<p>\S.*<\/p>\s*<p><strong>What to do:<\/strong> \S/, code)
      }
      for (const error of Object.keys(OAUTH_ERRORS)) assert.ok(errors.includes(`oauth-${error}`), error)
      for (const scope of SCOPES) assert.ok(idsOf(pages.get('/docs/scopes')).includes(scope), scope)
    })

    it('has every place that the workspace links to', () => {
      for (const link of [
        ...Object.values(DOCS),
        ...SCOPES.map(docsOfScope),
        ...Object.keys(PROBLEMS).map(docsOfProblem),
        ...['token', 'revoke'].flatMap((name) =>
          Object.keys(OAUTH_ERRORS).map((code) => docsOfRefusal({ route: `POST /v1/oauth/${name}`, code })),
        ),
        docsOfRefusal({ route: 'POST /v1/analytics/:vendorId/events', code: 'insufficient_scope' }),
      ]) {
        const [path = '', anchor] = link.split('#')
        assert.ok(pages.has(path), link)
        assert.ok(anchor === undefined || idsOf(pages.get(path)).includes(anchor), link)
      }
    })

    it('has a target for every link, and no id twice on a page', async () => {
      for (const [path, html] of pages) {
        const ids = idsOf(html)
        assert.deepEqual(ids, [...new Set(ids)], path)
        for (const href of hrefsOf(html)) {
          const [target, anchor] = href.split('#')
          const page = target === '' ? html : pages.get(target ?? '')
          if (page) assert.ok(anchor === undefined || idsOf(page).includes(anchor), `${path}: ${href}`)
          else if (/^(?:https:\/\/api\.test)?\/(docs|openapi|llms)/.test(href)) {
            const { status } = await api.request('GET', href.replace('https://api.test', ''))
            assert.equal(status, 200, `${path}: ${href}`)
          } else assert.match(href, ELSEWHERE, path)
        }
      }
    })

    it('fetches nothing but files of its own, and runs only the script that copies, which writes no markup', async () => {
      const [, script = ''] = / src="(\/docs\/assets\/copy-[\w-]+\.js)"/.exec(pages.get('/docs') ?? '') ?? []
      assert.equal(
        policy,
        `default-src 'none'; script-src https://api.test${script}; style-src 'self'; font-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'`,
      )
      const { headers, text } = await api.request('GET', script)
      assert.equal(headers.get('content-type'), 'text/javascript; charset=utf-8')
      assert.doesNotMatch(text, /innerHTML|eval|fetch\(|storage/i)
      for (const [path, html] of pages) {
        assert.equal(html.split('<script').length, 2, path)
        assert.ok(html.includes(`<script src="${script}" defer></script>`), path)
        assert.doesNotMatch(html, /<style|<iframe|<img|\son\w+="|\sstyle="|javascript:/i, path)
      }
    })

    it('closes every element that it opens', () => {
      for (const [path, html] of pages) {
        const open: string[] = []
        for (const [, close, name = '', end] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*?(\/?)>/g)) {
          if (['meta', 'link', 'input', 'br'].includes(name) || end) continue
          if (close) assert.equal(open.pop(), name, path)
          else open.push(name)
        }
        assert.deepEqual(open, [], path)
      }
    })

    it('leaves no slot empty and no value out', () => {
      for (const [path, html] of pages)
        assert.doesNotMatch(html, /\{\{[a-z-]+\}\}|\{(base_url|issuer|openapi)\}|undefined/, path)
    })

    it('serves style, script and fonts at content-named, permanently cacheable addresses', async () => {
      const style = hrefsOf(pages.get('/docs') ?? '').find((href) => href.endsWith('.css')) ?? ''
      const { headers, text } = await api.request('GET', style)
      assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable')
      const fonts = [...text.matchAll(/url\("([^"]+)"\)/g)].map(([, file]) => `/docs/assets/${file}`)
      assert.equal(fonts.length, 2)
      for (const font of fonts) {
        const response = await api.request('GET', font)
        assert.equal(response.status, 200, font)
        assert.equal(response.headers.get('content-type'), 'font/woff2')
      }
    })

    it('puts the path of an API that has one before its own addresses', async () => {
      const { text } = await behind.request('GET', '/docs/token')
      for (const href of hrefsOf(text)) assert.match(href, /^(#|https:|\/integrations\/)/)
    })
  })

  const paths = '/.well-known/oauth-protected-resource /openapi.json /docs /docs/token /docs/token.md'
  for (const path of paths.split(' '))
    it(`sends ${path} to anyone, compressed to whoever takes that, and not again while it is the same`, async () => {
      const read = (headers: Record<string, string>) => api.request('GET', path, { headers })
      const plain = await read({ 'accept-encoding': 'identity' })
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(plain.headers.get('cache-control'), 'public, max-age=300')
      const tags = [plain.headers.get('etag')]
      for (const encoding of ['br', 'gzip']) {
        const packed = await read({ 'accept-encoding': encoding })
        assert.equal(packed.headers.get('content-encoding'), encoding)
        const isPage = /^\/docs[^.]*$/.test(path)
        assert.equal(packed.headers.get('vary'), isPage ? 'Accept, Accept-Encoding' : 'Accept-Encoding')
        assert.equal(packed.text, plain.text)
        tags.push(packed.headers.get('etag'))
        const again = await read({ 'accept-encoding': encoding, 'if-none-match': String(tags.at(-1)) })
        assert.deepEqual([again.status, again.text], [304, ''])
      }
      assert.equal(new Set(tags).size, 3)
    })

  it('answers /docs/ as /docs', async () => {
    const { status, text } = await api.request('GET', '/docs/')
    assert.deepEqual([status, text], [200, (await api.request('GET', '/docs')).text])
  })
})
