/** What a route answers; the server adds the request id and the RateLimit fields, and writes it. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** RFC 6749 §5.1: no cache may keep an answer that can hold a token; errors are treated the same way. */
const UNCACHED = Object.freeze({ 'Cache-Control': 'no-store', Pragma: 'no-cache' })
export const UNCACHED_JSON = Object.freeze({ 'Content-Type': 'application/json', ...UNCACHED })

export const answerUncached = (body: object, status = 200): Answer => ({
  status,
  body: JSON.stringify(body),
  headers: UNCACHED_JSON,
})

/** 200 without a body, and without a Content-Type, which would make clients try to parse it. */
export const EMPTY: Answer = Object.freeze({ status: 200, body: '', headers: UNCACHED })

/** A path or method that does not exist here: not an OAuth message, but in the same shape. */
export const answerUnmatched = (status: 404 | 405, headers: Record<string, string> = {}): Answer => ({
  status,
  body: JSON.stringify({ error: status === 404 ? 'not_found' : 'method_not_allowed' }),
  headers: { ...UNCACHED_JSON, ...headers },
})
