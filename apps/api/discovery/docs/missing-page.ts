import type { ApiMiddleware } from '../../http/state.ts'
import { TOPICS, type Topic, topicItem } from './topics.ts'

/** An address may be thousands of characters long. */
const COMPARED_CHARACTERS = 64
const NEAREST_MAX = 4
const SIMILARITY_MIN = 0.25

export const MISSING_TOPIC: Topic = {
  slug: 'missing',
  title: 'Page not found',
  description: 'There is no page at this address.',
}

/**
 * Answers an address below /docs that nothing else serves: a page for a browser, Markdown for a request that
 * prefers it, and for others the problem of any unknown path.
 * @param render returns the body of this type from Markdown.
 */
export const createMissingPage = (
  render: (type: 'text/html' | 'text/markdown', markdown: string) => string,
  headers: Record<string, string>,
) =>
  ((ctx, next) => {
    if (!['GET', 'HEAD'].includes(ctx.method) || !ctx.path.startsWith('/docs/')) return next()
    ctx.vary('Accept')
    const type = ctx.accepts('application/problem+json', 'text/html', 'text/markdown')
    if (type !== 'text/html' && type !== 'text/markdown') return next()
    ctx.set({ ...headers, 'Cache-Control': 'no-store' })
    ctx.status = 404
    ctx.type = `${type}; charset=utf-8`
    ctx.body = render(type, describeMissing(ctx.path.slice('/docs/'.length)))
  }) satisfies ApiMiddleware

/** Names the topics whose addresses share the most pairs of characters with this one, the nearest first. */
function describeMissing(slug: string): string {
  const text = slug.slice(0, COMPARED_CHARACTERS).toLowerCase().replace(/\.md$/, '')
  const wanted = pairsOf(text.replaceAll(/[^a-z]/g, '-'))
  const nearest = TOPICS.map((topic) => ({ topic, similarity: compare(wanted, pairsOf(topic.slug)) }))
    .filter(({ similarity }) => similarity >= SIMILARITY_MIN)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, NEAREST_MAX)
  const list = nearest.map(({ topic }) => topicItem(topic)).join('\n')
  const pages = list && `The pages with the nearest addresses:\n\n${list}\n\n`
  const sentence = `${MISSING_TOPIC.description} It may be mistyped, or the page may have moved.`
  return `# ${MISSING_TOPIC.title}\n\n${sentence}\n\n${pages}Or [start here](index.md).`
}

const pairsOf = (text: string): Set<string> =>
  new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)))

/** Returns the share of pairs that both have (Dice's coefficient). */
const compare = (a: Set<string>, b: Set<string>): number =>
  (2 * [...a].filter((pair) => b.has(pair)).length) / Math.max(1, a.size + b.size)
