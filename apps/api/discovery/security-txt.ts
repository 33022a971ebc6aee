import type { Clock } from '#shared/process/clock.ts'
import type { ApiMiddleware } from '../http/state.ts'

const DAY_MS = 24 * 3_600_000
/** RFC 9116 §2.5.5 recommends less than a year. */
const VALID_DAYS = 180

/**
 * Serves security.txt (RFC 9116). Expires is counted from the day of the request, since the contact is that
 * of the running configuration.
 */
export const securityTxt =
  ({ contact, apiResource, clock }: { contact: string; apiResource: string; clock: Clock }): ApiMiddleware =>
  (ctx) => {
    const today = Math.floor(clock.now() / DAY_MS)
    ctx.set('Cache-Control', 'public, max-age=300')
    ctx.type = 'text/plain; charset=utf-8'
    ctx.body = `Contact: ${contact}
Expires: ${new Date((today + VALID_DAYS) * DAY_MS).toISOString()}
Preferred-Languages: en
Canonical: ${new URL(apiResource).origin}/.well-known/security.txt
Policy: ${apiResource}/docs/security
`
  }
