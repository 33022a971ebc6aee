/** What a route answers; the server adds the request id and writes it. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const JSON_TYPE = 'application/json'
/** RFC 6749 §5.1: no cache may keep an answer that can hold a token; errors are treated alike. */
export const UNCACHED = Object.freeze({
  'Content-Type': JSON_TYPE,
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
})

export const answerUncached = (status: number, body: object | ''): Answer => ({
  status,
  body: body === '' ? '' : JSON.stringify(body),
  headers: UNCACHED,
})

export const answerCached = (json: string, maxAge_s: number): Answer => ({
  status: 200,
  body: json,
  headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': `public, max-age=${maxAge_s}` },
})

/** A path or method that does not exist here: not an OAuth message, but told in the same shape. */
export const answerUnmatched = (status: 404 | 405, headers: Record<string, string> = {}): Answer => ({
  status,
  body: JSON.stringify({ error: status === 404 ? 'not_found' : 'method_not_allowed' }),
  headers: { ...UNCACHED, ...headers },
})
