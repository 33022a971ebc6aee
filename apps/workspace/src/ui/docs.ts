import type { Scope } from '#shared/oauth/scopes.ts'

/** The places of the documentation that the screens lead to. */
export const DOCS = {
  start: '/docs',
  token: '/docs/token',
  languages: '/docs/token#ask-for-a-token',
  privateKey: '/docs/private-key#sign-each-token-request',
  keyKinds: '/docs/private-key#what-the-assertion-must-have',
  workload: '/docs/workload-platforms',
  events: '/docs/events',
  receiverLocally: '/docs/webhooks#try-it-from-your-machine',
  rotation: '/docs/rotation#the-steps',
  revocation: '/docs/revocation#a-client',
  leaked: '/docs/rotation#if-the-secret-has-leaked',
  whatArrives: '/docs/webhooks#what-arrives',
  testResult: '/docs/webhooks#what-the-result-means',
  receiverNeeds: '/docs/webhooks#what-the-receiver-needs',
} as const

export const docsOfScope = (scope: Scope): string => `/docs/scopes#${scope}`

/** @param code of an error of the resource API. */
export const docsOfProblem = (code: string): string => `/docs/errors#problem-${code}`

/** @param error of the token or the revocation endpoint. */
export const docsOfOAuthError = (error: string): string => `/docs/errors#oauth-${error}`

/** @param refusal `route` as in "POST /v1/oauth/token". */
export const docsOfRefusal = ({ route, code }: { route: string; code: string }): string =>
  route.includes('/v1/oauth/') ? docsOfOAuthError(code) : docsOfProblem(code)
