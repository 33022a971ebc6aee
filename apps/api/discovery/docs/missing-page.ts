import type { ApiMiddleware } from '../../http/state.ts'
import { TOPICS, type Topic } from './topics.ts'

/** An address may be thousands of characters long. */
const COMPARED_CHARACTERS = 64
const NEAREST_MAX = 4
const SIMILARITY_MIN = 0.25

export const MISSING_TOPIC: Topic = {
  slug: 'missing',
  title: 'Page not found',
  description: 'There is no page at this address.',
}

/** Each body is rendered for the request, with absolute links in Markdown. */
export interface MissingPageBodies {
  html(markdown: string): string
  markdown(markdown: string): string
  /** Header fields of the HTML. */
  headers: Record<string, string>
}

/**
 * Answers an address below /docs that nothing else serves: a page for a browser, Markdown for a request that
 * prefers it, and for others the problem of any unknown path.
 */
export const createMissingPage =
  (bodies: MissingPageBodies): ApiMiddleware =>
  (ctx, next) => {
    if (!['GET', 'HEAD'].includes(ctx.method) || !ctx.path.startsWith('/docs/')) return next()
    ctx.vary('Accept')
    const type = ctx.accepts('application/problem+json', 'text/html', 'text/markdown')
    if (type !== 'text/html' && type !== 'text/markdown') return next()
    const markdown = describeMissing(ctx.path.slice('/docs/'.length))
    ctx.status = 404
    ctx.set('Cache-Control', 'no-store')
    if (type === 'text/html') ctx.set(bodies.headers)
    ctx.type = `${type}; charset=utf-8`
    ctx.body = type === 'text/html' ? bodies.html(markdown) : bodies.markdown(markdown)
  }

function describeMissing(slug: string): string {
  const item = ({ slug, title, description }: Topic) => `- [${title}](${slug}.md): ${description}`
  const nearest = findNearest(slug)
  return [
    `# ${MISSING_TOPIC.title}`,
    `${MISSING_TOPIC.description} It may be mistyped, or the page may have moved.`,
    ...(nearest.length > 0 ? ['The pages with the nearest addresses:', nearest.map(item).join('\n')] : []),
    'Or [start here](index.md).',
  ].join('\n\n')
}

/** Returns the topics whose addresses share the most pairs of characters with this one, the nearest first. */
function findNearest(slug: string): Topic[] {
  const wanted = pairsOf(
    slug
      .slice(0, COMPARED_CHARACTERS)
      .toLowerCase()
      .replace(/\.md$/, '')
      .replaceAll(/[^a-z]/g, '-'),
  )
  return TOPICS.map((topic) => ({ topic, similarity: compare(wanted, pairsOf(topic.slug)) }))
    .filter(({ similarity }) => similarity >= SIMILARITY_MIN)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, NEAREST_MAX)
    .map(({ topic }) => topic)
}

const pairsOf = (text: string): Set<string> =>
  new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)))

/** Returns the share of pairs that both have (Dice's coefficient). */
const compare = (a: Set<string>, b: Set<string>): number =>
  (2 * [...a].filter((pair) => b.has(pair)).length) / Math.max(1, a.size + b.size)
