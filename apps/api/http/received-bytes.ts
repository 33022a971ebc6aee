import type { IncomingMessage } from 'node:http'
import { Problem } from '#shared/problems.ts'

/** A sender that goes silent for this long is given up. */
const SILENCE_MAX_MS = 3_000
/** The whole body must arrive within this time. */
const ARRIVAL_MAX_MS = 10_000

/** The length of a body as its sender declares it, in bytes; undefined if it comes in chunks. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/**
 * Reads the body of a request. Nothing of a body is read whose declared length is above the limit.
 * @throws Problem 413 above the limit, 408 if the body stalls or takes too long, 400 if it is cut off. The connection
 * is closed after each of them, since the rest of the body may still be on its way.
 */
export function receivedBytes(request: IncomingMessage, limit_bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size_bytes = 0

    const data = (chunk: Buffer) => {
      size_bytes += chunk.length
      if (size_bytes > limit_bytes) return refuse(tooLarge(limit_bytes))
      chunks.push(chunk)
      silence.refresh()
    }
    const end = () => {
      stop()
      resolve(Buffer.concat(chunks, size_bytes))
    }
    const refuse = (problem: Problem) => {
      stop()
      request.pause()
      reject(problem)
    }
    const cutOff = () => refuse(closing('malformed_json', 'The body ended too early.'))
    const late = () => refuse(closing('request_timeout', 'The body took too long to arrive.'))
    function stop() {
      clearTimeout(silence)
      clearTimeout(arrival)
      request.off('data', data).off('end', end).off('error', cutOff).off('close', cutOff)
    }

    const silence = setTimeout(late, SILENCE_MAX_MS)
    const arrival = setTimeout(late, ARRIVAL_MAX_MS)
    if ((declaredLength(request) ?? 0) > limit_bytes) return refuse(tooLarge(limit_bytes))
    if (request.destroyed) return cutOff()
    request.on('error', cutOff).on('close', cutOff).on('end', end).on('data', data)
  })
}

const closing = (code: 'malformed_json' | 'payload_too_large' | 'request_timeout', detail: string): Problem =>
  new Problem(code, detail, { headers: { Connection: 'close' } })

const tooLarge = (limit_bytes: number): Problem =>
  closing('payload_too_large', `The body may have at most ${limit_bytes} bytes.`)
