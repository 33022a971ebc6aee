import { randomBytes } from 'node:crypto'
import { SESSION_TOKEN_PATTERN } from '#shared/oauth/ids.ts'
import type { ApiContext } from '../http/state.ts'
import { Problem } from '../problems/problems.ts'
import { SESSION_LIFETIME_S } from './sessions.ts'
import { BROWSER_KNOWN_FOR_S } from './sign-in-addresses.ts'

const BROWSER_SECRET_BYTES = 32
const SAFE_METHODS = ['GET', 'HEAD']

/** How a browser carries a session: in a cookie that no script can read. */
export type SessionCookie = ReturnType<typeof createSessionCookie>

/**
 * Creates a workspace cookie that no script can read. Over https its name starts with `__Host-`, so no
 * sibling host can set it (RFC 6265bis §4.1.3.2). Over http, which is for loopback only, browsers accept
 * neither that name nor Secure.
 * @param value the form of its value. Anything else is ignored.
 */
export function createCookie({
  baseUrl,
  plainName,
  value,
  sameSite,
}: {
  baseUrl: string
  plainName: string
  value: RegExp
  sameSite: 'Strict' | 'Lax'
}) {
  const secure = new URL(baseUrl).protocol === 'https:'
  const name = secure ? `__Host-${plainName}` : plainName
  const attributes = `Path=/; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
  const cookie = new RegExp(`(?:^|; )${name}=(${value.source})(?:;|$)`)
  return {
    name,
    read: (ctx: ApiContext): string | undefined => cookie.exec(ctx.get('Cookie'))?.[1],
    /** Keeps the answer's other cookies. A lifetime of 0 removes it. */
    write: (ctx: ApiContext, text: string, lifetime_s: number): void =>
      ctx.append('Set-Cookie', `${name}=${text}; Max-Age=${lifetime_s}; ${attributes}`),
  }
}

/** Creates the session cookie of the workspace at `baseUrl`. */
export function createSessionCookie({ baseUrl }: { baseUrl: string }) {
  const { origin } = new URL(baseUrl)
  const { name, read, write } = createCookie({
    baseUrl,
    plainName: 'session',
    value: SESSION_TOKEN_PATTERN,
    sameSite: 'Strict',
  })
  const browser = createCookie({
    baseUrl,
    plainName: 'browser',
    value: /[A-Za-z0-9_-]{43}/,
    sameSite: 'Strict',
  })
  return {
    name,
    /** Returns the session token in the request's cookie; undefined if it has no valid one. */
    read,
    set: (ctx: ApiContext, sessionToken: string) => write(ctx, sessionToken, SESSION_LIFETIME_S),
    /**
     * A secret by which a browser proves that a person has signed in from it before, so that strangers'
     * guesses do not lock that person out of it.
     */
    browser: {
      read: browser.read,
      create: () => randomBytes(BROWSER_SECRET_BYTES).toString('base64url'),
      set: (ctx: ApiContext, secret: string) => browser.write(ctx, secret, BROWSER_KNOWN_FOR_S),
    },
    clear: (ctx: ApiContext) => write(ctx, '', 0),
    /** @throws Problem forbidden when a request that changes something is not from a workspace page. */
    requireOwnPage(ctx: ApiContext): void {
      if (SAFE_METHODS.includes(ctx.method)) return
      // Browsers set both, and no script can choose either. If present, Sec-Fetch-Site decides: it is more
      // precise.
      const site = ctx.get('Sec-Fetch-Site')
      if (site === '' ? ctx.get('Origin') === origin : site === 'same-origin') return
      throw new Problem('forbidden', 'Session cookies are only accepted from the workspace itself.')
    },
  }
}
