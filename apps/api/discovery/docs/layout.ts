import { escapeHtml } from './markdown.ts'
import type { Topic, TopicGroup } from './topics.ts'

export interface Layout {
  groups: readonly TopicGroup[]
  pageHref(slug: string): string
  /** Addresses of the workspace's first page, and of what the pages load. */
  home: string
  style: string
  script: string
  fonts: readonly string[]
}

const BRAND = [
  '<svg class="brand-mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false">',
  '<rect class="brand-plate" width="32" height="32" rx="7"/>',
  '<path class="brand-key" ',
  'd="M10.5 7.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M15 12h11M19 12v5M22.5 12v9M26 12v6.5"/>',
  '</svg>',
  '<span class="brand-name">Integration Access<span class="brand-part">Documentation</span></span>',
].join('')

/** Returns a whole page, with the navigation around the content of a topic. */
export function renderPage(topic: Topic, content: string, layout: Layout): string {
  const { groups, pageHref, home, style, script, fonts } = layout
  const topics = groups.flatMap((group) => group.topics)
  const index = topics.indexOf(topic)
  // A page that is no topic has neither.
  const next = index < 0 ? undefined : topics[index + 1]
  const alternate =
    index < 0 ? '' : `\n<link rel="alternate" type="text/markdown" href="${home}docs/${topic.slug}.md">`
  const title =
    topic.slug === 'index' ? 'Integration Access documentation' : `${topic.title} · Integration Access`
  const preloads = fonts.map(
    (font) => `<link rel="preload" href="${font}" as="font" type="font/woff2" crossorigin>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(topic.description)}">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${home}favicon.svg" type="image/svg+xml">
${preloads.join('\n')}${alternate}
<link rel="stylesheet" href="${style}">
<script src="${script}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="shell">
<header class="rail">
<a class="brand" href="${pageHref('index')}">${BRAND}</a>
${navigation(topic, layout)}
</header>
<main id="content" tabindex="-1">
<div class="page">
${content}
${next ? `<p class="next">Next: <a href="${pageHref(next.slug)}">${escapeHtml(next.title)}</a></p>` : ''}
</div>
</main>
</div>
</body>
</html>
`
}

/** Returns the list of topics. On a narrow screen it is folded behind the title of the current one. */
function navigation(current: Topic, { groups, pageHref, home }: Layout): string {
  const item = (href: string, title: string, attributes = '') =>
    `<li><a href="${href}"${attributes}>${escapeHtml(title)}</a></li>`
  const group = (title: string, items: readonly string[]) =>
    `<p class="nav-group">${escapeHtml(title)}</p><ul>${items.join('')}</ul>`
  const topicItem = (topic: Topic) =>
    item(pageHref(topic.slug), topic.title, topic === current ? ' aria-current="page"' : '')
  const elsewhere = [
    item(`${home}openapi/integrations.json`, 'OpenAPI for integrations'),
    item(`${home}openapi.json`, 'OpenAPI, all routes'),
    item(home, 'Workspace'),
  ]
  return `<nav class="nav" aria-label="Documentation">
<details>
<summary>${escapeHtml(current.title)}</summary>
${groups.map(({ title, topics }) => group(title, topics.map(topicItem))).join('\n')}
${group('Elsewhere', elsewhere)}
</details>
</nav>`
}
