import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { SignJWT } from 'jose'
import { drain, listen } from '#shared/process/http-server.ts'
import type { TestClock } from './clock.ts'
import { ISSUER, type TestKey } from './issuer.ts'

/** How a page names a client, a token or a key. */
export const digest = (id: string): string =>
  createHash('sha256').update(id).digest().subarray(0, 12).toString('base64url')

/** The content of a page, which a test may change. */
export interface TestPage {
  clients: string[]
  tokens: string[]
  keys: string[]
  /** Set in place of, or besides, what a page has. */
  claims: Record<string, unknown>
  header: Record<string, unknown>
  key: TestKey
  /** Answers in place of the page. */
  answer?: ((response: ServerResponse) => void) | undefined
}

/** Stands in for GET /v1/oauth/revocations, and signs whatever an attack needs. */
export async function createTestPages({ clock, key }: { clock: TestClock; key: TestKey }) {
  const page: TestPage = { clients: [], tokens: [], keys: [], claims: {}, header: {}, key }
  /** Requests and connections so far, requests under way, and the most that were at one time. */
  const counts = { requests: 0, connections: 0, now: 0, atOnce: 0 }
  const server = createServer(async (_, response) => {
    counts.requests += 1
    counts.now += 1
    counts.atOnce = Math.max(counts.atOnce, counts.now)
    response.once('close', () => {
      counts.now -= 1
    })
    server.emit('asked')
    if (page.answer) return page.answer(response)
    response.end(await signed())
  })
  server.on('connection', () => {
    counts.connections += 1
  })
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  /** Returns the page as it is now. */
  function signed(): Promise<string> {
    const { clients, tokens, keys, claims, header, key: signer } = page
    const iat = Math.floor(clock.now() / 1_000)
    const lists = { clients: clients.map(digest), tokens: tokens.map(digest), keys: keys.map(digest) }
    return new SignJWT({ iss: ISSUER, iat, ...lists, ...claims })
      .setProtectedHeader({ typ: 'revocations+jwt', alg: signer.alg, kid: signer.kid, ...header })
      .sign(signer.privateKey)
  }
  return {
    url: `http://127.0.0.1:${port}/v1/oauth/revocations`,
    page,
    signed,
    counts,
    /** Resolves once an answer sent after this call has been read: then the next request has come. */
    async polled() {
      // The first of these may have been under way already.
      for (let times = 0; times < 3; times += 1) await once(server, 'asked')
    },
    [Symbol.asyncDispose]: () => drain(server, 100),
  }
}
