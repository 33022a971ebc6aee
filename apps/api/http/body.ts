import { koaBody } from 'koa-body'
import type { z } from 'zod'
import { Problem } from '#shared/problems.ts'
import { documented } from './documented.ts'
import { inputErrors } from './input.ts'
import type { ApiContext, ApiMiddleware } from './state.ts'

const BODY_LIMIT_BYTES = 64 * 1_024
const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const REPLACEMENT_CHARACTER = '\uFFFD'

export interface BodyOptions {
  limit_bytes?: number
}

/**
 * @returns what reads the JSON body of a request and gives what `schema` makes of it. It is called once the caller is
 * known, so that nobody's body is read for a stranger. It throws Problem 415 for another media type or encoding, 413
 * above the limit, 400 for what is not JSON in UTF-8, and 422 for what `schema` refuses.
 */
export function bodyReader<Schema extends z.ZodType>(
  schema: Schema,
  { limit_bytes = BODY_LIMIT_BYTES }: BodyOptions = {},
): (ctx: ApiContext) => Promise<z.infer<Schema>> {
  const read = koaBody({
    json: true,
    jsonStrict: false,
    jsonLimit: limit_bytes,
    jsonTypes: ['application/json'],
    includeUnparsed: true,
    urlencoded: false,
    text: false,
    multipart: false,
    onError: (error) => {
      throw bodyProblem(error, limit_bytes)
    },
  })
  return async (ctx) => {
    requireJson(ctx)
    await read(ctx as never, async () => {})
    const { rawBody, body: parsed } = ctx.request as unknown as { rawBody: string; body: unknown }
    // The decoder puts this character where the bytes were not UTF-8; RFC 8259 §8.1 asks for UTF-8.
    if (rawBody.includes(REPLACEMENT_CHARACTER)) throw malformed('The body is not valid UTF-8.')
    if (rawBody === '') throw malformed('The body is empty.')
    const result = schema.safeParse(parsed)
    if (result.success) return result.data
    throw new Problem('invalid_input', 'The body breaks a rule; errors says which.', {
      errors: inputErrors(result.error.issues, (path) => path),
    })
  }
}

export const BODY_PROBLEMS = [
  'unsupported_media_type',
  'payload_too_large',
  'malformed_json',
  'invalid_input',
] as const

/** The same as a middleware, which leaves the body in `ctx.state.body`. */
export function body(schema: z.ZodType, options: BodyOptions = {}): ApiMiddleware {
  const read = bodyReader(schema, options)
  const middleware: ApiMiddleware = async (ctx, next) => {
    ctx.state.body = await read(ctx)
    await next()
  }
  return documented(middleware, { body: schema, problems: BODY_PROBLEMS })
}

function requireJson(ctx: ApiContext): void {
  if (!JSON_TYPE.test(ctx.get('Content-Type'))) {
    throw new Problem('unsupported_media_type', 'Send the body as application/json in UTF-8.')
  }
  if (!/^(identity)?$/i.test(ctx.get('Content-Encoding'))) {
    throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}

function bodyProblem(error: Error, limit_bytes: number): Problem {
  const { status, body: raw } = error as { status?: number; body?: unknown }
  if (status === 413) {
    return new Problem('payload_too_large', `The body may have at most ${limit_bytes} bytes.`, {
      headers: { Connection: 'close' },
    })
  }
  if (typeof raw === 'string' && isJson(raw)) {
    return new Problem('invalid_input', 'The body breaks a rule; errors says which.', {
      errors: [{ pointer: '', detail: 'must not have a member named __proto__' }],
    })
  }
  return malformed('The body is not valid JSON.')
}

const malformed = (detail: string): Problem => new Problem('malformed_json', detail)

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
