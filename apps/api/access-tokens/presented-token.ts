import { koaBody } from 'koa-body'
import { type Bearer, readBearer } from '#shared/access-tokens/bearer.ts'
import type { ApiContext } from '../http/state.ts'

/**
 * Returns the access token in the Authorization header (RFC 6750 §2.1). A token anywhere else is never
 * accepted. One in the query as well makes the result `repeated`, since §2 allows one
 * method per request.
 */
export function presentedToken(ctx: ApiContext): Bearer {
  const bearer = readBearer(ctx.req)
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
  // An unreadable form is refused later, for its media type.
  onError: () => {},
})

/**
 * Whether a form contains a token too. This reads the body, so call it only once the caller is authenticated.
 */
export async function sentInForm(ctx: ApiContext): Promise<boolean> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD' || !ctx.is('application/x-www-form-urlencoded'))
    return false
  await readForm(ctx as never, async () => {})
  const form = (ctx.request as { body?: unknown }).body
  return typeof form === 'object' && form !== null && 'access_token' in form
}
