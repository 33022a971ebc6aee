import type { Middleware } from 'koa'
import { Problem } from '../problems/problems.ts'
import type { ApiState } from './state.ts'

/**
 * Answers 400 to an absolute request target (RFC 9112 §3.2.2) that is no URL: Koa would throw at
 * it, or take a part of its host for the path.
 */
export const checkTarget: Middleware<ApiState> = ({ url }, next) => {
  if (!url.startsWith('/') && url !== '*' && !URL.canParse(url))
    throw new Problem('invalid_request', 'The request target is not a valid URL.')
  return next()
}
