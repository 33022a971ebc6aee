import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { ApiDocument } from '../openapi/document-shape.ts'
import { postmanCollection } from '../openapi/postman.ts'
import type { PublishedFile } from '../published.ts'
import { oauthErrors, oauthErrorTable, problems } from './errors.ts'
import { escaped } from './html.ts'
import { type Layout, pageOf, sectionsOf, type Topic, type TopicGroup } from './layout.ts'
import { llmsTxt } from './llms-txt.ts'
import { filledMarkdown, renderMarkdown } from './markdown.ts'
import { reference } from './reference.ts'
import { tryIt } from './try-it.ts'

/** The topics in reading order. Each is a file of `pages`. */
const GROUPS: readonly TopicGroup[] = [
  {
    title: 'First steps',
    topics: [
      { slug: '', title: 'Start here', words: 'What you need, and a first call in five minutes.' },
      {
        slug: 'token',
        title: 'Get a token',
        words: 'The token request, its answers and errors, and caching.',
      },
      { slug: 'scopes', title: 'Scopes', words: 'What each scope allows.' },
    ],
  },
  {
    title: 'Use the API',
    topics: [
      {
        slug: 'analytics',
        title: 'Read analytics',
        words: 'Daily figures, and reading them only if they changed.',
      },
      { slug: 'events', title: 'Report events', words: 'Impressions, clicks, orders and boost spend.' },
      {
        slug: 'webhooks',
        title: 'Receive a test event',
        words: 'The request that arrives at your callback URL, and how to answer it.',
      },
    ],
  },
  {
    title: 'Keep it running',
    topics: [
      {
        slug: 'rate-limits',
        title: 'Rate limits',
        words: 'How many requests are allowed, and what to do with a 429.',
      },
      { slug: 'rotation', title: 'Rotate a secret', words: 'Replace a secret without a gap.' },
      { slug: 'revocation', title: 'Revoke', words: 'End one token, or a client and all of its tokens.' },
      {
        slug: 'found-secrets',
        title: 'Report a found secret',
        words: 'For anyone who finds a client secret, and for secret scanners.',
      },
      { slug: 'verify', title: 'Verify a token', words: 'For a service that receives access tokens itself.' },
    ],
  },
  {
    title: 'Look up',
    topics: [
      { slug: 'errors', title: 'Errors', words: 'Every error code, why it comes and what to do.' },
      { slug: 'reference', title: 'Reference', words: 'Every route and schema.' },
      {
        slug: 'versioning',
        title: 'Versions',
        words: 'What can change, what cannot, and how a route ends.',
      },
      { slug: 'changelog', title: 'Changes', words: 'What changed for integrators.' },
      {
        slug: 'security',
        title: 'Report a vulnerability',
        words: 'Whom to write to, and what happens then.',
      },
    ],
  },
]
const TOPICS = GROUPS.flatMap(({ topics }) => topics)

const FONTS = [
  '@fontsource-variable/atkinson-hyperlegible-next/files/atkinson-hyperlegible-next-latin-wght-normal.woff2',
  '@fontsource-variable/atkinson-hyperlegible-mono/files/atkinson-hyperlegible-mono-latin-wght-normal.woff2',
]

/** Only files of this origin; scripts may not turn text into markup. */
const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
}

export interface DocsOptions {
  /** Called when a page that shows it is first asked for. */
  openapi: () => ApiDocument
  issuer: string
  apiResource: string
  /** A mailto or https URL, if there is one. */
  securityContact?: string | undefined
}

/**
 * The documentation: static pages, which need a script only to search, to copy, and to remember the chosen language.
 * Returns the files by their paths on this server, and the page for a path that has none. They are rendered on first
 * request.
 */
export function createDocs(options: DocsOptions): {
  files: Map<string, PublishedFile>
  missing: () => { html: string; headers: Record<string, string> }
} {
  const fonts = FONTS.map(fontAsset)
  const script = asset('docs.js', 'text/javascript; charset=utf-8', read('docs.js'))
  const assets = [...fonts, styleAsset(fonts), script]
  const layout = layoutOf(options, assets)
  const contentOf = (topic: Topic) => renderTopic(topic, options, layout, renderMarkdown)
  const absolute = absoluteLayout(layout, options)
  const markdown = (topic: Topic): PublishedFile => ({
    type: 'text/markdown; charset=utf-8',
    content: () => renderTopic(topic, options, absolute, filledMarkdown),
  })
  const page = (topic: Topic): PublishedFile => ({
    type: 'text/html; charset=utf-8',
    content: () => pageOf(topic, contentOf(topic), layout),
    headers: PAGE_HEADERS,
    markdown: markdown(topic),
  })
  const llms = () => llmsTxt(absolute, options.issuer)
  const postman = () => JSON.stringify(postmanCollection(options.openapi(), options.issuer))
  const files = new Map<string, PublishedFile>([
    ...TOPICS.map((topic) => [pathOf(topic.slug), page(topic)] as const),
    ...TOPICS.map((topic) => [markdownPathOf(topic.slug), markdown(topic)] as const),
    ['/docs/', page(TOPICS[0] as Topic)],
    ['/llms.txt', { type: 'text/plain; charset=utf-8', content: llms }],
    [POSTMAN_PATH, { type: 'application/json', content: postman }],
    ['/docs/search.json', { type: 'application/json', content: () => searchIndex(contentOf, layout) }],
    ...assets.map((file) => [file.path, file] as const),
  ])
  const missing = { slug: 'missing', title: 'No such page', words: 'The documentation has no page here.' }
  return {
    files,
    missing: () => ({
      html: pageOf(missing, `<h1 id="missing">${missing.title}</h1>\n${topicList(layout)}`, layout),
      headers: PAGE_HEADERS,
    }),
  }
}

const POSTMAN_PATH = '/docs/postman.json'
const pathOf = (slug: string): string => (slug === '' ? '/docs' : `/docs/${slug}`)
const markdownPathOf = (slug: string): string => `/docs/${slug || 'index'}.md`

function layoutOf({ apiResource }: DocsOptions, assets: readonly Asset[]): Layout {
  const { pathname } = new URL(apiResource)
  // The API may have a path of its own, which a proxy takes off.
  const home = pathname.endsWith('/') ? pathname : `${pathname}/`
  const hrefOf = (path: string) => escaped(home + path.slice(1))
  const found = (end: string) => hrefOf(assets.find(({ path }) => path.endsWith(end))?.path ?? '')
  return {
    groups: GROUPS,
    hrefOf: (slug) => hrefOf(pathOf(slug)),
    assets: {
      style: found('.css'),
      script: found('.js'),
      fonts: assets.filter(({ path }) => path.endsWith('.woff2')).map(({ path }) => hrefOf(path)),
      openapi: hrefOf('/openapi.json'),
      postman: hrefOf(POSTMAN_PATH),
      home: escaped(home),
    },
  }
}

/** For documents that are read away from this server: pages in Markdown, whole addresses. */
const absoluteLayout = (layout: Layout, { apiResource }: DocsOptions): Layout => ({
  ...layout,
  hrefOf: (slug) => apiResource + markdownPathOf(slug),
  assets: {
    ...layout.assets,
    openapi: `${apiResource}/openapi.json`,
    postman: apiResource + POSTMAN_PATH,
    home: `${apiResource}/`,
  },
})

function renderTopic(
  { slug }: Topic,
  { openapi, issuer, apiResource, securityContact }: DocsOptions,
  layout: Layout,
  render: typeof renderMarkdown,
): string {
  const errors = layout.hrefOf('errors')
  return render(read(`pages/${slug || 'index'}.md`), {
    values: {
      base_url: apiResource,
      issuer,
      security_contact: securityContact
        ? `[${securityContact.replace(/^mailto:/, '')}](${securityContact})`
        : 'the operator of this installation',
      postman: layout.assets.postman,
      openapi: layout.assets.openapi,
      explain: `${layout.assets.home}explain`,
    },
    hrefOf: (page) => layout.hrefOf(page === 'index' ? '' : page),
    slots: {
      topics: () => topicList(layout),
      'oauth-error-table': () => oauthErrorTable(errors),
      'try-it': () => tryIt(layout, { issuer, apiResource }),
      'oauth-errors': oauthErrors,
      problems,
      reference: () => reference(openapi(), errors),
    },
  })
}

const topicList = ({ hrefOf }: Layout): string =>
  `<dl class="topics">${TOPICS.slice(1)
    .map(
      ({ slug, title, words }) =>
        `<div><dt><a href="${hrefOf(slug)}">${escaped(title)}</a></dt><dd>${escaped(words)}</dd></div>`,
    )
    .join('')}</dl>`

/** What the script searches: [address, page, section, text]. Other requests get their turn between two pages. */
async function searchIndex(contentOf: (topic: Topic) => string, { hrefOf }: Layout): Promise<string> {
  const index: string[][] = []
  for (const topic of TOPICS) {
    await setImmediate()
    for (const { id, title, text, level } of sectionsOf(contentOf(topic))) {
      const page = hrefOf(topic.slug)
      index.push([level === 1 ? page : `${page}#${id}`, topic.title, title, text])
    }
  }
  return JSON.stringify(index)
}

interface Asset extends PublishedFile {
  path: string
}

const HASH_CHARACTERS = 12

function asset(name: string, type: string, content: string | Buffer): Asset {
  const [stem = '', extension = ''] = name.split('.')
  const digest = hash('sha256', content, 'base64url').slice(0, HASH_CHARACTERS)
  return {
    path: `/docs/assets/${stem}-${digest}.${extension}`,
    type,
    content: () => content,
    immutable: true,
  }
}

function fontAsset(file: string): Asset {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return asset(name, 'font/woff2', readFileSync(fileURLToPath(import.meta.resolve(file))))
}

/** What the workspace looks like too, then the pages' own rules, which name the fonts relative to the style itself. */
function styleAsset(fontAssets: readonly Asset[]): Asset {
  const fonts = fontAssets.map(({ path }) => path.slice(path.lastIndexOf('/') + 1))
  const look = ['#shared/look/look.css', '#shared/look/base.css'].map((file) =>
    readFileSync(fileURLToPath(import.meta.resolve(file)), 'utf8'),
  )
  const own = read('docs.css').replaceAll(/font-(\d)\.woff2/g, (_, index) => fonts[Number(index)] ?? '')
  return asset('docs.css', 'text/css; charset=utf-8', [...look, own].join('\n'))
}

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
