import { SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import { Problem } from '#shared/problems.ts'
import type { ApiContext } from '../http/state.ts'
import { SESSION_LIFETIME_S } from './sessions.ts'

const READS = ['GET', 'HEAD']

/** How a browser carries a session: in a cookie that no script can read. */
export interface SessionCookie {
  readonly name: string
  /** @returns the session token of the request's cookie; undefined when there is none that looks like one. */
  read(ctx: ApiContext): string | undefined
  set(ctx: ApiContext, sessionToken: string): void
  clear(ctx: ApiContext): void
  /** @throws Problem forbidden when the request changes something and no page of the workspace sent it. */
  requireOwnPage(ctx: ApiContext): void
}

/**
 * The cookie of the workspace at `baseUrl`. Over https its name starts with `__Host-`, so that no neighbouring host can
 * set it (RFC 6265bis §4.1.3.2); over http, which is for loopback only, browsers accept neither that name nor Secure.
 */
export function createSessionCookie({ baseUrl }: { baseUrl: string }): SessionCookie {
  const { origin, protocol } = new URL(baseUrl)
  const secure = protocol === 'https:'
  const name = secure ? '__Host-session' : 'session'
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  const cookie = new RegExp(`(?:^|; )${name}=(${SESSION_TOKEN_PATTERN.source})(?:;|$)`)
  const write = (ctx: ApiContext, value: string, lifetime_s: number) =>
    ctx.set('Set-Cookie', `${name}=${value}; Max-Age=${lifetime_s}; ${attributes}`)

  return {
    name,
    read: (ctx) => cookie.exec(ctx.get('Cookie'))?.[1],
    set: (ctx, sessionToken) => write(ctx, sessionToken, SESSION_LIFETIME_S),
    clear: (ctx) => write(ctx, '', 0),
    requireOwnPage(ctx) {
      if (READS.includes(ctx.method)) return
      // Browsers set both, and no script can choose either. Sec-Fetch-Site says more, so it decides if it is present.
      const site = ctx.get('Sec-Fetch-Site')
      if (site === '' ? ctx.get('Origin') === origin : site === 'same-origin') return
      throw new Problem('forbidden', 'A session cookie only counts on requests from the workspace itself.')
    },
  }
}
