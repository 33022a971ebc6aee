import { TAGS } from '../openapi/document.ts'
import { referenceSlug } from './reference.ts'

export interface Topic {
  /** The last part of its address; `index` for the first page. */
  slug: string
  title: string
  /** One sentence, for lists of topics and for search engines. */
  description: string
  /** The tag of the OpenAPI document that the page is generated from. Other pages are `pages/{slug}.md`. */
  tag?: string
}

export interface TopicGroup {
  title: string
  topics: readonly Topic[]
}

const topic = (slug: string, title: string, description: string): Topic => ({ slug, title, description })

/** Every page of the documentation, in reading order. */
export const TOPIC_GROUPS: readonly TopicGroup[] = [
  {
    title: 'First steps',
    topics: [
      topic('index', 'Start here', 'What you need, and a first call in five minutes.'),
      topic('token', 'Get a token', 'The token request, its answers and errors, and caching.'),
      topic(
        'libraries',
        'Use a library',
        'What to set in an OAuth 2.0 library, and which refuse this server.',
      ),
      topic('private-key', 'Use a private key', 'Sign each token request in place of sending a secret.'),
      topic(
        'workload-identity',
        'Use no secret',
        'Trust the tokens of the platform that your system runs on.',
      ),
      topic(
        'workload-platforms',
        'Platforms, one by one',
        'GitHub Actions, GitLab, Buildkite, CircleCI, Bitbucket, Kubernetes, SPIFFE, Google Cloud and AWS.',
      ),
      topic('scopes', 'Scopes', 'What each scope allows.'),
    ],
  },
  {
    title: 'Use the API',
    topics: [
      topic('analytics', 'Read analytics', 'Daily figures, and reading them only if they changed.'),
      topic('events', 'Report events', 'Impressions, clicks, orders and boost spend.'),
      topic(
        'webhooks',
        'Receive a test event',
        'The request that arrives at your callback URL, and how to answer it.',
      ),
    ],
  },
  {
    title: 'Keep it running',
    topics: [
      topic('rate-limits', 'Rate limits', 'How many requests are allowed, and what to do with a 429.'),
      topic('rotation', 'Rotate a secret', 'Replace a secret without a gap.'),
      topic('revocation', 'Revoke', 'End one token, or a client and all of its tokens.'),
      topic(
        'found-secrets',
        'Report a found secret',
        'For anyone who finds a client secret, and for secret scanners.',
      ),
    ],
  },
  {
    title: 'Verify tokens',
    topics: [
      topic('verify', 'Verify a token', 'Which of these pages is for your service.'),
      topic('verify-node', 'Verify in Node', 'A program with jose, and libraries that cannot do it.'),
      topic('verify-python', 'Verify in Python', 'A program with PyJWT, and the settings for Django.'),
      topic('verify-go', 'Verify in Go', 'A program with golang-jwt and keyfunc.'),
      topic('verify-java', 'Verify in Java', 'A program with Spring Security, which checks a token or asks.'),
      topic('introspection', 'Ask about each token', 'Introspection (RFC 7662), in PHP and elsewhere.'),
      topic('verify-proxies', 'Verify at a proxy', 'nginx, Caddy, Traefik, Envoy and HAProxy.'),
      topic('verify-rules', 'Rules for a verifier', 'What to check in any other language.'),
    ],
  },
  {
    title: 'Look up',
    topics: [
      topic('errors', 'Errors', 'Every error code, why it comes and what to do.'),
      topic('versioning', 'Versions', 'What can change, what cannot, and how a route ends.'),
      topic('changelog', 'Changes', 'What changed for integrators.'),
      topic('security', 'Report a vulnerability', 'Whom to write to, and what happens then.'),
    ],
  },
  {
    title: 'Reference',
    topics: [
      topic('reference', 'All routes', 'Every route and schema, by tag.'),
      ...Object.entries(TAGS).map(([tag, description]) => ({
        ...topic(referenceSlug(tag), tag, description),
        tag,
      })),
    ],
  },
]

export const TOPICS: readonly Topic[] = TOPIC_GROUPS.flatMap(({ topics }) => topics)

export const topicItem = ({ slug, title, description }: Topic): string =>
  `- [${title}](${slug}.md): ${description}`

/** Returns the list of topics in Markdown, each group below a heading of this depth. */
export const topicList = (depth: 2 | 3): string =>
  TOPIC_GROUPS.map(({ title, topics }) => {
    return `${'#'.repeat(depth)} ${title}\n\n${topics.map(topicItem).join('\n')}`
  }).join('\n\n')
