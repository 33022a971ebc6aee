import type { Layout } from './layout.ts'

/**
 * Returns an index of everything a program can read here, in the form of llmstxt.org.
 * @param layout with absolute addresses.
 */
export const llmsTxt = ({ groups, hrefOf, assets }: Layout, issuer: string): string =>
  `# Integration Access Service

> Integrators read a company's daily figures and report events with OAuth 2.0 client credentials: a client's id and secret are traded for a 15-minute token, which is sent with each request.

Every page below is Markdown. The same pages in HTML begin at ${assets.home}docs.
${groups
  .map(
    ({ title, topics }) => `
## ${title}

${topics.map((topic) => `- [${topic.title}](${hrefOf(topic.slug)}): ${topic.words}`).join('\n')}
`,
  )
  .join('')}
## Descriptions for programs

- [OpenAPI 3.1 document](${assets.openapi}): every route and schema.
- [Postman collection](${assets.postman}): the same as requests to send.
- [Authorization server metadata](${issuer}/.well-known/oauth-authorization-server): endpoints and what they support (RFC 8414).
- [Protected resource metadata](${assets.home}.well-known/oauth-protected-resource): who issues the tokens (RFC 9728).
`
