import type { z } from 'zod'
import { Problem } from '../problems/problems.ts'
import { inputErrors, invalidInput, ZOD_OPTIONS } from './input.ts'
import { parseJson } from './json.ts'
import { byteReader } from './received-bytes.ts'
import type { ApiContext } from './state.ts'

export const JSON_BODY_LIMIT_BYTES = 64 * 1_024

/**
 * Returns a reader that parses the JSON body with `schema`. It is called once the caller is known, so that a
 * stranger's body is not read. It throws Problem 415 for another media type or encoding, 413 above the limit,
 * 408 if the body takes too long to arrive, 400 for what is not JSON in UTF-8, and 422 for what is nested too
 * deep, holds too many values, or what `schema` refuses.
 */
export function bodyReader<Schema extends z.ZodType>(
  schema: Schema,
  limit_bytes = JSON_BODY_LIMIT_BYTES,
): (ctx: ApiContext) => Promise<z.infer<Schema>> {
  const read = byteReader(limit_bytes)
  return async (ctx) => {
    requireJson(ctx)
    return parseBody(schema, await read(ctx))
  }
}

/** Returns what `schema` makes of a JSON body. @throws Problem 400 or 422 */
export function parseBody<Schema extends z.ZodType>(schema: Schema, bytes: Buffer): z.infer<Schema> {
  const result = schema.safeParse(parseJson(bytes), ZOD_OPTIONS)
  if (result.success) return result.data
  const errors = inputErrors(result.error.issues, (path) => path)
  throw invalidInput('The body is invalid; see errors.', ...errors)
}

export const BODY_PROBLEMS = [
  'unsupported_media_type',
  'payload_too_large',
  'request_timeout',
  'malformed_json',
  'invalid_input',
] as const

/** Whether this is JSON in UTF-8. It has no parameters, so others are ignored (RFC 8259 §11). */
function isJson(contentType: string): boolean {
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const isOther = (text: string) => /^charset=/.test(text) && !/^charset="?(?:utf-?8|us-ascii)"?$/.test(text)
  return type === 'application/json' && !parameters.some(isOther)
}

function requireJson(ctx: ApiContext): void {
  if (!isJson(ctx.get('Content-Type')))
    throw unsupported('Send the body as application/json in UTF-8.', { Accept: 'application/json' })
  if (!/^(identity)?$/i.test(ctx.get('Content-Encoding')))
    throw unsupported('Send the body without a Content-Encoding.', { 'Accept-Encoding': 'identity' })
}

/** @param headers the header naming the accepted values (RFC 9110 §15.5.16). */
const unsupported = (detail: string, headers: Record<string, string>): Problem =>
  new Problem('unsupported_media_type', detail, { headers })
