import type { IncomingMessage } from 'node:http'
import { koaBody } from 'koa-body'
import { Problem } from '../problems/problems.ts'
import type { ApiContext } from './state.ts'

/** A sender that is silent for this long times out. */
const SILENCE_MAX_MS = 3_000
/** The deadline for the whole body, which leaves part of a request's 8 s for handling it. */
const ARRIVAL_MAX_MS = 6_000

/**
 * An oversized body of at most this length is left for node:http to discard after the answer. If the
 * connection were closed instead, the rest of the body would reset it, and a proxy would lose the answer.
 */
const DISCARDED_MAX_BYTES = 4 * 1_024 * 1_024

/** Returns the declared length of a body in bytes; undefined if it is chunked. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/**
 * Returns a reader of the bytes of a body. A body whose declared length exceeds the limit is not read. Throws
 * Problem 413 above the limit, 408 if the body stalls or takes too long, 400 if it is cut off. Each of them
 * closes the connection, since the rest of the body may still be arriving, unless that rest is known to be
 * short enough to discard.
 */
export function byteReader(limit_bytes: number): (ctx: ApiContext) => Promise<Buffer> {
  const read = koaBody({
    text: true,
    textTypes: ['application/json'],
    textLimit: limit_bytes,
    // Raw bytes; UTF-8 is checked later.
    encoding: '',
    json: false,
    urlencoded: false,
    multipart: false,
    onError(error) {
      throw (error as { type?: string }).type === 'entity.too.large' ? tooLarge(limit_bytes) : cutOff()
    },
  })

  return async (ctx) => {
    const declared_bytes = declaredLength(ctx.req) ?? 0
    if (declared_bytes > limit_bytes) throw tooLarge(limit_bytes, declared_bytes > DISCARDED_MAX_BYTES)
    if (ctx.req.destroyed) throw cutOff()
    const timeout = Promise.withResolvers<never>()
    const onTimeout = () => timeout.reject(tooSlow())
    const silence = setTimeout(onTimeout, SILENCE_MAX_MS)
    const arrival = setTimeout(onTimeout, ARRIVAL_MAX_MS)
    const onData = () => silence.refresh()
    const reading = read(ctx as never, async () => {})
    ctx.req.on('data', onData)
    try {
      await Promise.race([reading, timeout.promise])
    } catch (error) {
      // Ignores everything else that arrives.
      reading.catch(() => {})
      ctx.req.pause()
      throw error
    } finally {
      clearTimeout(silence)
      clearTimeout(arrival)
      ctx.req.off('data', onData)
    }
    const body: unknown = ctx.request.body
    return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  }
}

const closingProblem = (
  code: 'malformed_json' | 'payload_too_large' | 'request_timeout',
  detail: string,
): Problem => new Problem(code, detail, { headers: { Connection: 'close' } })

function tooLarge(limit_bytes: number, close = true): Problem {
  const detail = `The body can have at most ${limit_bytes} bytes.`
  return close ? closingProblem('payload_too_large', detail) : new Problem('payload_too_large', detail)
}

const tooSlow = (): Problem => closingProblem('request_timeout', 'The body took too long to arrive.')

const cutOff = (): Problem => closingProblem('malformed_json', 'The body ended too early.')
