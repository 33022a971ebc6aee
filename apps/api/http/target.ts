import type { Middleware } from 'koa'
import { Problem } from '#shared/problems/problems.ts'
import type { ApiState } from './state.ts'

const ENCODED = /%[0-9A-Fa-f]{2}/g
const UNRESERVED = /[A-Za-z0-9\-._~]/

/** Decodes only what needs no encoding: such paths are equal (RFC 3986 §2.3, RFC 9110 §4.2.3). */
const normalPath = (path: string): string =>
  path.replace(ENCODED, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return UNRESERVED.test(character) ? character : encoded
  })

/**
 * Normalizes the path. Answers 400 to an absolute request target (RFC 9112 §3.2.2) that is no URL: Koa would throw at
 * it, or take a part of its host for the path.
 */
export const readTarget: Middleware<ApiState> = (ctx, next) => {
  const { url } = ctx
  if (!url.startsWith('/') && url !== '*' && !URL.canParse(url))
    throw new Problem('invalid_request', 'The request target is not a valid URL.')
  if (url.includes('%')) ctx.url = url.replace(/^[^?]*/, normalPath)
  return next()
}
