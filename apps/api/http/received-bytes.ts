import type { IncomingMessage } from 'node:http'
import { koaBody } from 'koa-body'
import { Problem } from '#shared/problems/problems.ts'
import type { ApiContext } from './state.ts'

/** A sender that is silent for this long is given up on. */
const SILENCE_MAX_MS = 3_000
/** The whole body must arrive within this time, which leaves some of a request's 8 s for the work. */
const ARRIVAL_MAX_MS = 6_000

/** The length of a body as its sender declares it, in bytes; undefined if it comes in chunks. */
export function declaredLength({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/**
 * @returns what reads the bytes of a JSON body. Nothing of a body is read whose declared length is above the limit.
 * It throws Problem 413 above the limit, 408 if the body stalls or takes too long, 400 if it is cut off. The connection
 * is closed after each of them, since the rest of the body may still be on its way.
 */
export function byteReader(limit_bytes: number): (ctx: ApiContext) => Promise<Buffer> {
  const read = koaBody({
    text: true,
    textTypes: ['application/json'],
    textLimit: limit_bytes,
    // The bytes as they are; UTF-8 is checked later.
    encoding: '',
    json: false,
    urlencoded: false,
    multipart: false,
    onError(error) {
      throw (error as { type?: string }).type === 'entity.too.large' ? tooLarge(limit_bytes) : cutOff()
    },
  })

  return async (ctx) => {
    if ((declaredLength(ctx.req) ?? 0) > limit_bytes) throw tooLarge(limit_bytes)
    if (ctx.req.destroyed) throw cutOff()
    const late = Promise.withResolvers<never>()
    const give = () => late.reject(closing('request_timeout', 'The body took too long to arrive.'))
    const silence = setTimeout(give, SILENCE_MAX_MS)
    const arrival = setTimeout(give, ARRIVAL_MAX_MS)
    const heard = () => silence.refresh()
    const reading = read(ctx as never, async () => {})
    ctx.req.on('data', heard)
    try {
      await Promise.race([reading, late.promise])
    } catch (error) {
      // Whatever else arrives is ignored.
      reading.catch(() => {})
      ctx.req.pause()
      throw error
    } finally {
      clearTimeout(silence)
      clearTimeout(arrival)
      ctx.req.off('data', heard)
    }
    const body: unknown = ctx.request.body
    return Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  }
}

const closing = (code: 'malformed_json' | 'payload_too_large' | 'request_timeout', detail: string): Problem =>
  new Problem(code, detail, { headers: { Connection: 'close' } })

const tooLarge = (limit_bytes: number): Problem =>
  closing('payload_too_large', `The body may have at most ${limit_bytes} bytes.`)

const cutOff = (): Problem => closing('malformed_json', 'The body ended too early.')
