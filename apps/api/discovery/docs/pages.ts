import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ApiDocument } from '../openapi/document-shape.ts'
import type { PublishedFile } from '../published.ts'
import { callbackUrlProblemList, oauthErrorList, oauthErrorTable } from './errors.ts'
import { type Layout, pageOf } from './layout.ts'
import { escaped, renderMarkdown } from './markdown.ts'
import { referenceList, referenceOf } from './reference.ts'
import { TOPIC_GROUPS, TOPICS, type Topic, topicList } from './topics.ts'

const FONTS = [
  '@fontsource-variable/atkinson-hyperlegible-next/files/atkinson-hyperlegible-next-latin-wght-normal.woff2',
  '@fontsource-variable/atkinson-hyperlegible-mono/files/atkinson-hyperlegible-mono-latin-wght-normal.woff2',
]

export interface DocsOptions {
  /** Called when a page that shows it is first asked for. */
  openapi: () => ApiDocument
  issuer: string
  apiResource: string
  /** A mailto or https URL, if there is one. */
  securityContact?: string | undefined
}

/**
 * The documentation: pages in Markdown, and the same in HTML. Returns the files by their paths on this server. They are
 * rendered on first request.
 */
export function createDocs(options: DocsOptions): Map<string, PublishedFile> {
  const { apiResource } = options
  // The API may have a path of its own, which a proxy takes off.
  const home = escaped(new URL(apiResource).pathname.replace(/\/?$/, '/'))
  const hrefOf = (slug: string) => home + pathOf(slug).slice(1)
  const assets = assetFiles()
  const [style, script, ...fonts] = assets.map(([path]) => home + path.slice(1)) as [string, string]
  const layout: Layout = { groups: TOPIC_GROUPS, hrefOf, home, style, script, fonts }
  const headers = pageHeaders(new URL(script, apiResource).href)
  const markdownFile = (topic: Topic): PublishedFile => ({
    type: 'text/markdown; charset=utf-8',
    content: () => withAddresses(markdownOf(topic, options), apiResource),
  })
  const page = (topic: Topic): PublishedFile => ({
    type: 'text/html; charset=utf-8',
    content: () => pageOf(topic, renderMarkdown(markdownOf(topic, options), hrefOf), layout),
    headers,
    markdown: markdownFile(topic),
  })
  // An index of everything that a program can read here, in the form of llmstxt.org.
  const llmsTxt = () => withAddresses(fillIn(read('llms.txt'), options), apiResource)
  return new Map<string, PublishedFile>([
    ...TOPICS.map((topic) => [pathOf(topic.slug), page(topic)] as const),
    ...TOPICS.map((topic) => [`/docs/${topic.slug}.md`, markdownFile(topic)] as const),
    ['/docs/', page(TOPICS[0] as Topic)],
    ['/llms.txt', { type: 'text/plain; charset=utf-8', content: llmsTxt }],
    ...assets,
  ])
}

const pathOf = (slug: string): string => (slug === 'index' ? '/docs' : `/docs/${slug}`)

function markdownOf(topic: Topic, options: DocsOptions): string {
  if (topic.tag !== undefined) return referenceOf(topic.tag, options.openapi())
  return fillIn(read(`pages/${topic.slug}.md`), options)
}

/** Replaces each `{value}`, and each `{{slot}}` on a line of its own. */
function fillIn(text: string, { openapi, issuer, apiResource, securityContact }: DocsOptions): string {
  const values: Record<string, string> = {
    base_url: apiResource,
    issuer,
    security_contact: securityContact
      ? `[${securityContact.replace(/^mailto:/, '')}](${securityContact})`
      : 'the operator of this installation',
  }
  const slots: Record<string, () => string> = {
    topics: () => topicList(3),
    'topic-sections': () => topicList(2),
    'oauth-error-table': oauthErrorTable,
    'oauth-errors': oauthErrorList,
    'callback-url-problems': callbackUrlProblemList,
    reference: () => referenceList(openapi()),
  }
  return text
    .replaceAll(/\{([a-z_]+)\}(?!\})/g, (placeholder, name) => values[name] ?? placeholder)
    .replaceAll(/^\{\{(.+)\}\}$/gm, (_, name) => (slots[name] as () => string)())
}

/** Pages that are read away from this server link to each other by absolute addresses. */
const withAddresses = (markdown: string, apiResource: string): string =>
  markdown.replaceAll(/\]\(([a-z/-]+\.md)/g, `](${apiResource}/docs/$1`)

/** Only files of this origin, and only one script, which may not turn text into markup. */
const pageHeaders = (script: string): Record<string, string> => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src ${script}`,
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
})

const HASH_CHARACTERS = 12

/** The style, the script and the fonts, at addresses that name their content. The style names the fonts relative to it. */
function assetFiles(): [path: string, PublishedFile][] {
  const asset = (name: string, type: string, content: string | Buffer): [string, PublishedFile] => {
    const digest = hash('sha256', content, 'base64url').slice(0, HASH_CHARACTERS)
    const path = `/docs/assets/${name.replace(/(?=\.\w+$)/, `-${digest}`)}`
    return [path, { type, content: () => content, immutable: true }]
  }
  const fonts = FONTS.map((file) => asset(nameOf(file), 'font/woff2', readFileSync(resolved(file))))
  const look = ['look', 'base'].map((name) => readFileSync(resolved(`#shared/look/${name}.css`), 'utf8'))
  const own = read('docs.css').replaceAll(/font-(\d)\.woff2/g, (_, index) =>
    nameOf(fonts[Number(index)]?.[0] ?? ''),
  )
  return [
    asset('docs.css', 'text/css; charset=utf-8', [...look, own].join('\n')),
    asset('copy.js', 'text/javascript; charset=utf-8', read('copy.js')),
    ...fonts,
  ]
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const resolved = (file: string): string => fileURLToPath(import.meta.resolve(file))
function read(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}
