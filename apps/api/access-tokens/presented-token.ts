import { koaBody } from 'koa-body'
import { type Bearer, bearerOf } from '#shared/access-tokens/bearer.ts'
import type { ApiContext } from '../http/state.ts'

/**
 * The access token in the Authorization header (RFC 6750 §2.1). Only the header is ever taken; a token that is in the
 * query as well makes it `repeated`, since §2 forbids more than one way.
 */
export function presentedToken(ctx: ApiContext): Bearer {
  const bearer = bearerOf(ctx.req)
  return bearer.kind !== 'none' && sentInQuery(ctx) ? { kind: 'repeated' } : bearer
}

const sentInQuery = ({ querystring }: ApiContext): boolean =>
  querystring !== '' && new URLSearchParams(querystring).has('access_token')

const FORM_LIMIT_BYTES = 8 * 1_024
const readForm = koaBody({
  urlencoded: true,
  formLimit: FORM_LIMIT_BYTES,
  json: false,
  text: false,
  multipart: false,
  // A form that cannot be read is refused later, for its media type.
  onError: () => {},
})

/** Whether a form holds a token too. It reads the body, so ask only once the caller is known. */
export async function sentInForm(ctx: ApiContext): Promise<boolean> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD' || !ctx.is('application/x-www-form-urlencoded'))
    return false
  await readForm(ctx as never, async () => {})
  const form = (ctx.request as { body?: unknown }).body
  return typeof form === 'object' && form !== null && 'access_token' in form
}
