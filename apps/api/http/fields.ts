import type { ServerResponse } from 'node:http'

/** Header fields of every answer, unless a handler sets others: names and values in turn, as for Node. */
export const STANDARD_FIELDS: readonly string[] = [
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy',
  'no-referrer',
  'X-Content-Type-Options',
  'nosniff',
]

/**
 * Sends an answer at once, with all its fields. Setting each of them first would cost several times as much.
 */
export function send(
  res: ServerResponse,
  { status, fields, bytes }: { status: number; fields: readonly string[]; bytes: Buffer },
): void {
  res.writeHead(status, [...withCaching(fields), 'Content-Length', String(bytes.length)]).end(bytes)
}

/** Sets the fields that are not set yet. A repeated name gets all its values. */
export function setMissing(res: ServerResponse, fields: readonly string[]): void {
  const set = new Set(res.getHeaderNames())
  const pairs = withCaching(fields)
  for (let i = 0; i < pairs.length; i += 2) {
    const [name = '', value = ''] = pairs.slice(i, i + 2)
    if (!set.has(name.toLowerCase())) res.appendHeader(name, value)
  }
}

function withCaching(fields: readonly string[]): readonly string[] {
  // Only names count: a request id is a value that a proxy chose.
  const stated = fields.some((text, i) => i % 2 === 0 && text === 'Cache-Control')
  return stated ? fields : [...fields, 'Cache-Control', 'no-store']
}
