import { escaped, unescaped } from './html.ts'

export interface Topic {
  /** The last part of its address; empty for the first page. */
  slug: string
  title: string
  /** What it answers, for the list of topics. */
  words: string
}

export interface TopicGroup {
  title: string
  topics: readonly Topic[]
}

export interface Layout {
  groups: readonly TopicGroup[]
  hrefOf(slug: string): string
  /** Addresses of the style, the script and the description for machines. */
  assets: {
    style: string
    script: string
    fonts: readonly string[]
    openapi: string
    postman: string
    home: string
  }
}

/** One section of a page: what the search finds. */
export interface Section {
  id: string
  title: string
  level: number
  /** Without markup and without examples. */
  text: string
}

const HEADING = /<h([1-3]) id="([^"]+)">(.*?)<\/h\1>([\s\S]*?)(?=<h[1-3] id=|$)/g

export const sectionsOf = (html: string): Section[] =>
  [...html.matchAll(HEADING)].map(([, level, id = '', title = '', body = '']) => ({
    id,
    title: plain(title),
    level: Number(level),
    text: plain(withoutExamples(body)),
  }))

const EXAMPLE = /<(figure|fieldset)\b/g

function withoutExamples(html: string): string {
  const texts: string[] = []
  let from = 0
  for (const { index, 1: name } of html.matchAll(EXAMPLE)) {
    if (index < from) continue
    texts.push(html.slice(from, index))
    const end = html.indexOf(`</${name}>`, index)
    if (end < 0) return texts.join(' ')
    from = end
  }
  return [...texts, html.slice(from)].join(' ')
}

const plain = (html: string): string =>
  unescaped(html.replaceAll(/<[^<>]+>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,:;)])/g, '$1')
    .trim()

const BRAND = `<svg class="brand-mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false"><rect class="brand-plate" width="32" height="32" rx="7"/><path class="brand-key" d="M10.5 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M15 12h11M19 12v5M22.5 12v9M26 12v6.5"/></svg>`

/** A whole page around the content of a topic. */
export function pageOf(topic: Topic, content: string, layout: Layout): string {
  const { assets, hrefOf } = layout
  const title = topic.slug === '' ? 'Integration Access documentation' : `${topic.title} · Integration Access`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escaped(topic.words)}">
<title>${escaped(title)}</title>
<link rel="icon" href="${assets.home}favicon.svg" type="image/svg+xml">
${assets.fonts.map((font) => `<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin>`).join('\n')}
${alternate(topic, layout)}
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}"></script>
</head>
<body data-docs="${hrefOf('')}">
<a class="skip" href="#content">Skip to the content</a>
<div class="shell">
<header class="rail">
<a class="brand" href="${hrefOf('')}">${BRAND}<span class="brand-name">Integration Access<span class="brand-part">Documentation</span></span></a>
<search class="search" hidden><input type="search" placeholder="Search" aria-label="Search the documentation" autocomplete="off" spellcheck="false"><p class="off-screen" role="status"></p><ul class="results" hidden></ul></search>
${navigation(topic, layout)}
</header>
<main id="content" tabindex="-1">
<div class="page">
${content}
${footer(topic, layout)}
</div>
${contents(content)}
</main>
</div>
</body>
</html>
`
}

/** The page in Markdown, unless the page is one that reports an error. */
const alternate = (topic: Topic, { groups, assets }: Layout): string =>
  groups.some(({ topics }) => topics.includes(topic))
    ? `<link rel="alternate" type="text/markdown" href="${assets.home}docs/${topic.slug || 'index'}.md">`
    : ''

function navigation(current: Topic, { groups, hrefOf, assets }: Layout): string {
  const item = (topic: Topic) =>
    `<li><a href="${hrefOf(topic.slug)}"${topic === current ? ' aria-current="page"' : ''}>${escaped(topic.title)}</a></li>`
  return `<nav class="nav" aria-label="Documentation">
${groups.map(({ title, topics }) => `<p class="nav-group">${escaped(title)}</p><ul>${topics.map(item).join('')}</ul>`).join('\n')}
<p class="nav-group">Elsewhere</p><ul><li><a href="${assets.openapi}">OpenAPI document</a></li><li><a href="${assets.postman}">Postman collection</a></li><li><a href="${assets.home}">Workspace</a></li></ul>
</nav>`
}

/** The sections of a long page. */
function contents(content: string): string {
  const sections = sectionsOf(content).filter(({ level }) => level === 2)
  if (sections.length < 3) return ''
  const items = sections.map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`)
  return `<nav class="contents" aria-label="On this page"><p class="nav-group">On this page</p><ul>${items.join('')}</ul></nav>`
}

function footer(current: Topic, { groups, hrefOf }: Layout): string {
  const topics = groups.flatMap((group) => group.topics)
  const next = topics[topics.indexOf(current) + 1]
  return next ? `<p class="next">Next: <a href="${hrefOf(next.slug)}">${escaped(next.title)}</a></p>` : ''
}
