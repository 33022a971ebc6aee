import { koaBody } from 'koa-body'
import { type Bearer, bearerOf } from '../http/bearer.ts'
import type { ApiContext } from '../http/state.ts'

/**
 * The access token in the Authorization header (RFC 6750 §2.1). Only the header is ever taken; a token that is in the
 * query or in a form as well makes it `repeated`, since §2 forbids more than one way.
 */
export async function presentedToken(ctx: ApiContext): Promise<Bearer> {
  const bearer = bearerOf(ctx.req)
  if (bearer.kind === 'none' || bearer.kind === 'repeated') return bearer
  if (sentInQuery(ctx) || (mayHaveForm(ctx) && (await sentInForm(ctx)))) return { kind: 'repeated' }
  return bearer
}

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

const sentInQuery = ({ querystring }: ApiContext): boolean =>
  querystring !== '' && new URLSearchParams(querystring).has('access_token')

const mayHaveForm = (ctx: ApiContext): boolean =>
  ctx.method !== 'GET' && ctx.method !== 'HEAD' && Boolean(ctx.is('application/x-www-form-urlencoded'))

async function sentInForm(ctx: ApiContext): Promise<boolean> {
  await readForm(ctx as never, async () => {})
  const form = (ctx.request as { body?: unknown }).body
  return typeof form === 'object' && form !== null && 'access_token' in form
}
