import assert from 'node:assert/strict'
import { readApiConfig } from '../../apps/api/config.ts'
import type { ApiDocument } from '../../apps/api/discovery/openapi/document-shape.ts'
import { sharedApi, startApi } from '../support/api.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { assertProblem } from '../support/problem.ts'

const LEFTOVER = /<\/?[a-z]|&[a-z#0-9]+;|\{\{|\{(base_url|issuer|openapi|values_max)\}|undefined/
const NESTED =
  /\n\| `totals` \| object \|.*\n\| `totals\.impressions` \| integer.*\n(?:.*\n)+\| `days\[\]\.date` \|/
const EXTENDED =
  /\n### OpenIdMetadata .*\n\n\[ServerMetadata\]\(#schema-ServerMetadata\) and object\n\n\| Member .*\n.*\n\| `subject_types_supported` \| list of string/
/** In an HTML page: its Markdown, its place in the navigation, and the page after it. */
const PLACES = [
  / rel="alternate" type="text\/markdown" href="([^"]*)"/,
  / href="([^"]*)" aria-current="page"/,
  /"next">Next: <a href="([^"]*)"/,
]
const LINK = /\]\(([^()\s]+)\)/g
const linksOf = (markdown: string) => [...markdown.matchAll(LINK)].map(([, url = '']) => url)
const withoutCode = (markdown: string) => markdown.replaceAll(/^```[\s\S]*?^```$|`[^`\n]+`/gm, '')

/**
 * The anchors of a page: ids behind headings and items, and those that the HTML page gives other headings.
 */
const anchorsOf = (markdown: string) =>
  [...withoutFences(markdown).matchAll(/^#+ (.+)$|^- .+ (?=\{#.+\}$)(.+)$/gm)].map(
    ([, heading, item, title = heading ?? item ?? '']) =>
      /\{#(.+)\}$/.exec(title)?.[1] ??
      title
        .toLowerCase()
        .replaceAll('`', '')
        .replaceAll(/[^a-z0-9:_]+/g, '-')
        .replaceAll(/^-|-$/g, ''),
  )
const withoutFences = (markdown: string) => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }
const codeOf = (html: string) =>
  [...html.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, text = '']) =>
    text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_, name) => ENTITIES[name] ?? ''),
  )

describe('documents for machines', () => {
  const api = sharedApi()
  let index: string
  /** Markdown pages by their paths. */
  const pages = new Map<string, string>()
  const htmlPathOf = (path: string) => path.replace(/(?:\/index)?\.md$/, '')

  before(async () => {
    index = (await api.request('GET', '/llms.txt')).text
    for (const url of linksOf(index).filter((url) => url.endsWith('.md'))) {
      const path = url.slice(API_RESOURCE.length)
      const { status, headers, text } = await api.request('GET', path)
      assert.equal(status, 200, url)
      assert.equal(headers.get('content-type'), 'text/markdown; charset=utf-8', url)
      pages.set(path, text)
    }
  })

  describe('GET /llms.txt', () => {
    it('begins with a title and a summary, and lists every page of the navigation once', async () => {
      assert.match(index, /^# Integration Access Service\n\n> \S.*\n/)
      const html = (await api.request('GET', '/docs')).text
      const navigation = /<nav class="nav".*?<\/nav>/s.exec(html)?.[0] ?? ''
      const topics = [...navigation.matchAll(/href="(\/docs[^".]*)"/g)].map(([, path]) => path)
      assert.ok(topics.length > 10)
      assert.deepEqual([...pages.keys()].map(htmlPathOf), topics)
    })

    it('has a target for every link', async () => {
      for (const url of linksOf(index)) {
        if (url === `${ISSUER}/.well-known/oauth-authorization-server`) continue
        assert.ok(url.startsWith(`${API_RESOURCE}/`), url)
        assert.equal((await api.request('GET', url.slice(API_RESOURCE.length))).status, 200, url)
      }
    })
  })

  describe('GET /docs/{page}.md', () => {
    it('has every example of the HTML page, in every language', async () => {
      let examples = 0
      for (const [path, markdown] of pages) {
        for (const code of codeOf((await api.request('GET', htmlPathOf(path))).text)) {
          assert.ok(markdown.includes(`\n${code}\n\`\`\``), `${path} lacks ${code}`)
          examples++
        }
      }
      assert.ok(examples > 80, `${examples} examples`)
    })

    it('is named by the HTML page as its alternate, which marks its own place and leads to the next', async () => {
      const hrefs = [...pages.keys()].map(htmlPathOf)
      for (const [at, path] of [...pages.keys()].entries()) {
        const { text } = await api.request('GET', htmlPathOf(path))
        const named = PLACES.map((place) => place.exec(text)?.[1])
        assert.deepEqual(named, [path, hrefs[at], hrefs[at + 1]])
      }
    })

    it('shows each operation with its parameters, and nested members below their own', async () => {
      const document: ApiDocument = (await api.request('GET', '/openapi.json')).json
      for (const { operationId, tags } of Object.values(document.paths).flatMap(Object.values)) {
        const page = pages.get(`/docs/reference/${tags[0].toLowerCase()}.md`) ?? ''
        assert.ok(anchorsOf(page).includes(operationId), operationId)
        assert.ok(anchorsOf(pages.get('/docs/reference.md') ?? '').includes(operationId), operationId)
      }
      for (const { name } of document.tags)
        assert.ok(anchorsOf(pages.get('/docs/reference.md') ?? '').includes(`section-${name.toLowerCase()}`))
      const analytics = pages.get('/docs/reference/analytics.md') ?? ''
      assert.match(analytics, /\n\| `from` \| query, string \(date\), optional \| The first day/)
      assert.match(analytics, NESTED)
      assert.match(analytics, /\n\nAccess token with the scope `analytics:read`\.\n\n/)
      const oauth = pages.get('/docs/reference/oauth.md') ?? ''
      for (const part of [EXTENDED, /\n\nId and secret, by HTTP Basic.*\.\n\n/]) assert.match(oauth, part)
    })

    it('leaves no markup, entity, slot or value', () => {
      for (const [path, markdown] of pages) assert.doesNotMatch(withoutCode(markdown), LEFTOVER, path)
    })

    it('links to pages in Markdown with whole addresses, and to places that are there', () => {
      for (const [path, markdown] of pages)
        for (const url of linksOf(withoutFences(markdown))) {
          const [target = '', anchor] = url.split('#')
          if (target !== '' && !/\.md$/.test(target)) {
            assert.match(url, /^https:\/\//, `${path}: ${url}`)
            continue
          }
          const page = target === '' ? markdown : pages.get(target.slice(API_RESOURCE.length))
          assert.ok(page, `${path}: ${url}`)
          assert.ok(anchor === undefined || anchorsOf(page).includes(anchor), `${path}: ${url}`)
        }
    })
  })

  describe('GET /docs/{page} with Accept', () => {
    for (const [accept, type] of [
      ['text/markdown', 'text/markdown'],
      ['text/html,application/xhtml+xml,*/*;q=0.8', 'text/html'],
      ['text/html, text/markdown;q=0.5', 'text/html'],
      ['*/*', 'text/html'],
    ] as const)
      it(`answers "${accept}" in ${type}, with a tag of its own`, async () => {
        const read = (more: object) => api.request('GET', '/docs/token', { headers: { accept, ...more } })
        const { headers, text } = await read({})
        const fields = [headers.get('content-type'), headers.get('vary')]
        assert.deepEqual(fields, [`${type}; charset=utf-8`, 'Accept, Accept-Encoding'])
        assert.equal(text === pages.get('/docs/token.md'), type === 'text/markdown')
        const tag = headers.get('etag') ?? ''
        assert.equal((await read({ 'if-none-match': tag })).status, 304)
        const other = type === 'text/html' ? 'text/markdown' : 'text/html'
        assert.equal((await read({ 'if-none-match': tag, accept: other })).status, 200)
      })
  })

  describe('GET /docs/{page} where there is no page', () => {
    const read = (path: string, accept: string) => api.request('GET', path, { headers: { accept } })

    for (const [path, nearest] of [
      ['/docs/verify/node', '/docs/verify-node'],
      ['/docs/OAuth.md', '/docs/reference/oauth'],
      [`/docs/${'%3Cscript%3E'.repeat(300)}`, '/docs'],
      ['/docs/%00%FF', '/docs'],
    ] as const)
      it(`answers ${path.slice(0, 40)} with 404 and a page that leads to ${nearest}`, async () => {
        const { status, headers, text } = await read(path, 'text/html,application/xhtml+xml,*/*;q=0.8')
        const fields = [headers.get('content-type'), headers.get('cache-control')]
        assert.deepEqual([status, ...fields], [404, 'text/html; charset=utf-8', 'no-store'])
        assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; script-src https:/)
        const [, main = ''] = text.split('<main ')
        assert.match(main, /<h1 id="page-not-found">Page not found<\/h1>/)
        assert.equal(/ href="([^"]+)"/.exec(main)?.[1], nearest)
        assert.doesNotMatch(text, /<script>|rel="alternate"/)
      })

    it('answers in Markdown, or as a problem, to whoever prefers that', async () => {
      const { status, headers, text } = await read('/docs/verify_go', 'text/markdown')
      assert.deepEqual([status, headers.get('content-type')], [404, 'text/markdown; charset=utf-8'])
      assert.ok(linksOf(text)[0]?.startsWith(`${API_RESOURCE}/docs/verify-go.md`), text)
      for (const accept of ['application/json', '*/*', 'text/css,*/*;q=0.1']) {
        const response = await read('/docs/verify_go', accept)
        assertProblem(response, 'not_found')
        assert.equal(response.headers.get('vary'), 'Accept')
      }
      const posted = await api.request('POST', '/docs/verify_go', { headers: { accept: 'text/html' } })
      assertProblem(posted, 'not_found')
    })
  })

  describe('GET /.well-known/security.txt (RFC 9116)', () => {
    const PATH = '/.well-known/security.txt'

    it('is not there without a contact, which RFC 9116 requires', async () => {
      assert.equal((await api.request('GET', PATH)).status, 404)
      assert.match(pages.get('/docs/security.md') ?? '', /^Write to the operator of this installation\./m)
    })

    for (const contact of [
      'security@acme.example',
      'http://acme.example/security',
      'mailto:a@acme.example\nExpires: 2099-01-01T00:00:00Z',
      'https://acme.example/"><script>',
    ])
      it(`takes no contact like ${JSON.stringify(contact)}`, () =>
        assert.throws(
          () => readApiConfig({ SECURITY_CONTACT: contact }),
          /SECURITY_CONTACT: must be a mailto: or https:/,
        ))

    it('names the contact and the policy, and never expires while it is served', async () => {
      const contact = 'mailto:security@acme.example'
      await using beside = await startApi({ beside: api, env: { SECURITY_CONTACT: contact } })
      const { status, headers, text } = await beside.request('GET', PATH)
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'])
      const expires = /^Expires: (.*)$/m.exec(text)?.[1] ?? ''
      assert.equal(
        text,
        `Contact: ${contact}\nExpires: ${expires}\nPreferred-Languages: en\nCanonical: ${API_RESOURCE}${PATH}\nPolicy: ${API_RESOURCE}/docs/security\n`,
      )
      for (const days of [0, 300, 3_000]) {
        api.clock.advance(days * 86_400_000)
        const later = /^Expires: (\S+)$/m.exec((await beside.request('GET', PATH)).text)?.[1] ?? ''
        const left_days = (Date.parse(later) - api.clock.now()) / 86_400_000
        assert.ok(left_days > 170 && left_days < 365, `${left_days} days after ${days}`)
      }
      const page = (await beside.request('GET', '/docs/security')).text
      assert.ok(page.includes(`<a href="${contact}">security@acme.example</a>`))
    })
  })
})
