/** What a route answers; the server adds the request id and the RateLimit fields, and writes it. */
export interface Answer {
  readonly status: number
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** RFC 6749 §5.1: no cache may keep an answer that can hold a token; errors are treated the same way. */
const UNCACHED = Object.freeze({ 'Cache-Control': 'no-store', Pragma: 'no-cache' })
const UNCACHED_JSON = Object.freeze({ 'Content-Type': 'application/json', ...UNCACHED })

export const answerUncached = (body: object, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  body: JSON.stringify(body),
  headers: { ...UNCACHED_JSON, ...headers },
})

/** 200 without a body, and without a Content-Type, which would make clients try to parse it. */
export const EMPTY: Answer = Object.freeze({ status: 200, body: '', headers: UNCACHED })
