import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { VALUES_MAX } from '../../http/json.ts'
import type { ApiMiddleware } from '../../http/state.ts'
import type { ApiDocument } from '../openapi/document-shape.ts'
import type { PublishedFile } from '../published.ts'
import { callbackUrlProblemList, oauthErrorList, oauthErrorTable } from './errors.ts'
import { type Layout, renderPage } from './layout.ts'
import { escapeHtml, renderMarkdown } from './markdown.ts'
import { createMissingPage, MISSING_TOPIC } from './missing-page.ts'
import { referenceList, renderReference } from './reference.ts'
import { TOPIC_GROUPS, TOPICS, type Topic, topicList } from './topics.ts'

const FONTS = [
  '@fontsource-variable/atkinson-hyperlegible-next/files/atkinson-hyperlegible-next-latin-wght-normal.woff2',
  '@fontsource-variable/atkinson-hyperlegible-mono/files/atkinson-hyperlegible-mono-latin-wght-normal.woff2',
]

export interface DocsOptions {
  /** Called for the first request of a page that shows it. */
  openapi: () => ApiDocument
  issuer: string
  apiResource: string
  /** A mailto or https URL, if there is one. */
  securityContact?: string | undefined
}

/**
 * Returns the documentation by the paths of its files on this server: each page in HTML and in Markdown, and
 * what the pages load. A page is rendered for its first request. `missingPage` answers the other addresses.
 */
export function createDocs(options: DocsOptions): {
  files: Map<string, PublishedFile>
  missingPage: ApiMiddleware
} {
  const { apiResource } = options
  // The API can have a path of its own, which a proxy removes.
  const home = escapeHtml(new URL(apiResource).pathname.replace(/\/?$/, '/'))
  const pageHref = (slug: string) => home + topicPath(slug).slice(1)
  const assets = assetFiles()
  const [style, script, ...fonts] = assets.map(([path]) => home + path.slice(1)) as [string, string]
  const layout: Layout = { groups: TOPIC_GROUPS, pageHref, home, style, script, fonts }
  const headers = pageHeaders(new URL(script, apiResource).href)
  const markdownFile = (topic: Topic): PublishedFile => ({
    type: 'text/markdown; charset=utf-8',
    content: () => withAbsoluteLinks(topicMarkdown(topic, options), apiResource),
  })
  const page = (topic: Topic): PublishedFile => ({
    type: 'text/html; charset=utf-8',
    content: () => renderPage(topic, renderMarkdown(topicMarkdown(topic, options), pageHref), layout),
    headers,
    markdown: markdownFile(topic),
  })
  // An index of everything that a program can read here, in the form of llmstxt.org.
  const llmsTxt = () => withAbsoluteLinks(fillTemplate(read('llms.txt'), options), apiResource)
  const missingPage = createMissingPage(
    (type, markdown) =>
      type === 'text/html'
        ? renderPage(MISSING_TOPIC, renderMarkdown(markdown, pageHref), layout)
        : withAbsoluteLinks(markdown, apiResource),
    headers,
  )
  const files = new Map<string, PublishedFile>([
    ...TOPICS.map((topic) => [topicPath(topic.slug), page(topic)] as const),
    ...TOPICS.map((topic) => [`/docs/${topic.slug}.md`, markdownFile(topic)] as const),
    ['/docs/', page(TOPICS[0] as Topic)],
    ['/llms.txt', { type: 'text/plain; charset=utf-8', content: llmsTxt }],
    ...assets,
  ])
  return { files, missingPage }
}

const topicPath = (slug: string): string => (slug === 'index' ? '/docs' : `/docs/${slug}`)

function topicMarkdown(topic: Topic, options: DocsOptions): string {
  if (topic.tag !== undefined) return renderReference(topic.tag, options.openapi())
  return fillTemplate(read(`pages/${topic.slug}.md`), options)
}

/** Replaces each `{value}`, and each `{{slot}}` on a line of its own. */
function fillTemplate(text: string, { openapi, issuer, apiResource, securityContact }: DocsOptions): string {
  const values: Record<string, string> = {
    base_url: apiResource,
    issuer,
    values_max: VALUES_MAX.toLocaleString('en'),
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
const withAbsoluteLinks = (markdown: string, apiResource: string): string =>
  markdown.replaceAll(/\]\(([a-z/-]+\.md)/g, `](${apiResource}/docs/$1`)

/** Allows files of this origin and one script, which cannot turn text into markup. */
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

/** Returns the style sheet, the script and the fonts, each at a path with the hash of its content. */
function assetFiles(): [path: string, PublishedFile][] {
  const asset = (name: string, type: string, content: string | Buffer): [string, PublishedFile] => {
    const digest = hash('sha256', content, 'base64url').slice(0, HASH_CHARACTERS)
    const path = `/docs/assets/${name.replace(/(?=\.\w+$)/, `-${digest}`)}`
    return [path, { type, content: () => content, immutable: true }]
  }
  const fonts = FONTS.map((file) => asset(basename(file), 'font/woff2', readFileSync(resolvePath(file))))
  const look = ['look', 'base'].map((name) => readFileSync(resolvePath(`#shared/look/${name}.css`), 'utf8'))
  const pageStyles = read('docs.css').replaceAll(/font-(\d)\.woff2/g, (_, index) =>
    basename(fonts[Number(index)]?.[0] ?? ''),
  )
  return [
    asset('docs.css', 'text/css; charset=utf-8', [...look, pageStyles].join('\n')),
    asset('copy.js', 'text/javascript; charset=utf-8', read('copy.js')),
    ...fonts,
  ]
}

const resolvePath = (file: string): string => fileURLToPath(import.meta.resolve(file))
const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')
