import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { createAccessTokens, type TokenRefused } from '#shared/access-tokens/access-tokens.ts'
import type { IncomingRequest } from '#shared/access-tokens/bearer.ts'
import { createRevocationFeed, type RevocationFeed } from '#shared/access-tokens/revocation-feed.ts'
import { createSigningKeys, type SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { drain, listen } from '#shared/process/http-server.ts'
import { forEachTest } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { API_RESOURCE, createTestIssuer, ISSUER } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { createTestPages } from '../support/revocations-page.ts'

const CLIENT = { clientId: 'cli_a', vendorId: 'ven_a', scope: 'catalog:write boost:read' }
const WANTED = { scope: 'catalog:write', vendorId: CLIENT.vendorId }

describe('admit', () => {
  let now_ms: number
  let keys: SigningKeys
  let revocation: RevocationFeed
  afterEach(() => {
    revocation.stop()
    keys.stop()
  })
  const clock = forEachTest(createTestClock)
  const issuer = forEachTest(() => createTestIssuer({ clock }))
  const pages = forEachTest(() => createTestPages({ clock, key: issuer.key }))
  beforeEach(async () => {
    now_ms = 0
    const parts = { clock, log: silentLog() }
    keys = createSigningKeys({ url: issuer.jwksUrl, ...parts })
    await keys.start()
    const polling = { issuer: ISSUER, monotonic: () => now_ms, pollEvery_ms: 20 }
    revocation = createRevocationFeed({ url: pages.url, keys, ...parts, ...polling })
    await revocation.start()
  })

  const settings = () => ({ keys, issuer: ISSUER, resource: API_RESOURCE, revocation, clock })
  const admit = (headers: object, wanted: { scope: string; vendorId: string | undefined } = WANTED) =>
    createAccessTokens(settings()).admit({ headers }, wanted)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const challenged = (challenge: string, more: Partial<TokenRefused>) => ({
    name: 'TokenRefused',
    headers: { 'WWW-Authenticate': `Bearer realm="https://api.test"${challenge}` },
    ...more,
  })
  const invalid = (description: string) =>
    challenged(`, error="invalid_token", error_description="${description}"`, { status: 401 })
  const REVOKED = invalid('The token, its client or its key was revoked')
  const unavailable = { status: 503, headers: { 'Retry-After': '2' } }
  const madeUp = (kid: string) => issuer.token(CLIENT, { header: { kid } })

  it('returns the client, company and scopes of a live token with the scope for the company', async () => {
    const token = await issuer.token(CLIENT, { claims: { jti: 'jti-a' } })
    const rawHeaders = ['Vary', 'Authorization', 'Authorization', `Bearer ${token}`]
    const request = { headers: bearer(token), rawHeaders }
    assert.deepEqual(await createAccessTokens(settings()).admit(request, WANTED), {
      clientId: 'cli_a',
      vendorId: 'ven_a',
      scopes: ['catalog:write', 'boost:read'],
      jti: 'jti-a',
      kid: 'key-1',
    })
  })

  it('says by status and challenge why it refuses any other', async () => {
    const token = await issuer.token(CLIENT)
    await assert.rejects(admit({}), challenged('', { status: 401 }))
    await assert.rejects(admit({ authorization: 'Basic Y2xpX2E6eA==' }), challenged('', { status: 401 }))
    await assert.rejects(admit({ authorization: 'Bearer' }), invalid('The token is not a well-formed JWT'))
    await assert.rejects(admit(bearer(`${token.slice(0, -8)}AAAAAAAA`)), invalid('The signature is invalid'))
    const reading = await issuer.token({ ...CLIENT, scope: 'boost:read' })
    const error = 'error="insufficient_scope", error_description="The token lacks a required scope"'
    const lacking = challenged(`, ${error}, scope="catalog:write"`, { status: 403 })
    await assert.rejects(admit(bearer(reading)), lacking)
    for (const vendorId of ['ven_b', undefined, ''])
      await assert.rejects(admit(bearer(token), { ...WANTED, vendorId }), { status: 403, code: 'forbidden' })
  })

  it('refuses a token whose client, id or key is in the page', async () => {
    const next = await issuer.newKey('key-2')
    issuer.published.push(next.publicJwk)
    pages.page.key = next
    const token = await issuer.token(CLIENT, { claims: { jti: 'jti-a' } })
    const lists = { clients: 'cli_a', tokens: 'jti-a', keys: 'key-1' } as const
    for (const [kind, id] of Object.entries(lists) as [keyof typeof lists, string][]) {
      clock.advance(1_000)
      await pages.polled()
      await admit(bearer(token))
      pages.page[kind].push(id)
      clock.advance(1_000)
      await pages.polled()
      await assert.rejects(admit(bearer(token)), REVOKED)
      pages.page[kind].pop()
    }
  })

  describe('when a signing key was revoked during a flood of unknown kids', () => {
    let revoked: string
    beforeEach(async () => {
      revoked = await issuer.token(CLIENT)
      const standby = await issuer.newKey('key-2')
      issuer.published.push(standby.publicJwk)
      await admit(bearer(await issuer.token(CLIENT, { key: standby })))
      for (const n of [1, 2, 3, 4, 5]) await assert.rejects(admit(bearer(await madeUp(`made-up-${n}`))))
      pages.page.key = standby
      pages.page.keys.push('key-1')
      clock.advance(1_000)
      await pages.polled()
      assert.equal(issuer.requests.length, 1 + 3)
    })

    it('knows the next standby key once the revoked one was presented', async () => {
      const next = await issuer.newKey('key-3')
      issuer.published.splice(0, 1)
      issuer.published.push(next.publicJwk)
      await assert.rejects(admit(bearer(revoked)), REVOKED)
      await admit(bearer(await issuer.token(CLIENT, { key: next })))
      await assert.rejects(admit(bearer(revoked)), invalid('The token is signed with an unknown key'))
      assert.equal(issuer.requests.length, 1 + 3 + 1)
    })

    it('fetches once, even if the revoked key is still published', async () => {
      for (const _ of [1, 2, 3, 4, 5]) {
        await assert.rejects(admit(bearer(revoked)), REVOKED)
        await eventually(() => issuer.requests.length === 1 + 3 + 1)
      }
      // One more fetch, which waits for any other.
      clock.advance(10_000)
      await assert.rejects(admit(bearer(await madeUp('made-up'))))
      assert.equal(issuer.requests.length, 1 + 3 + 1 + 1)
    })

    it('does not rely on a fetch that began before the revocation was seen', async () => {
      clock.advance(10_000)
      await pages.polled()
      const release = issuer.hold()
      const flood = admit(bearer(await madeUp('made-up')))
      await eventually(() => issuer.requests.length === 1 + 3 + 1)
      const next = await issuer.newKey('key-3')
      issuer.published.push(next.publicJwk)
      await assert.rejects(admit(bearer(revoked)), REVOKED)
      release()
      await assert.rejects(flood)
      await eventually(() => keys.known('key-3') !== undefined)
    })
  })

  it('answers 503 when the copy is older than 10 s, and when the signing key cannot be fetched', async () => {
    const token = await issuer.token(CLIENT)
    pages.page.answer = (response) => void response.writeHead(503).end()
    now_ms += 10_001
    await assert.rejects(admit(bearer(token)), unavailable)
    issuer.answerWith({ status: 503 })
    clock.advance(10_000)
    await assert.rejects(admit(bearer(await madeUp('key-9'))), unavailable)
  })

  it('answers 503 when the answer about revocation is none that it knows', async () => {
    const token = await issuer.token(CLIENT)
    for (const answer of [undefined, true, 'Live', '']) {
      const tokens = createAccessTokens({ ...settings(), revocation: { ask: async () => answer as never } })
      await assert.rejects(tokens.admit({ headers: bearer(token) }, WANTED), unavailable, String(answer))
    }
  })

  it('takes a Request of the Fetch API, which joins two tokens to one that is malformed', async () => {
    const token = await issuer.token(CLIENT)
    const headers = new Headers(bearer(token))
    assert.equal((await admit(headers)).clientId, 'cli_a')
    headers.append('authorization', `Bearer ${token}`)
    await assert.rejects(admit(headers), invalid('The token is not a well-formed JWT'))
  })

  describe('of a request with two Authorization fields', () => {
    let server: Server
    let asked: (message: IncomingMessage) => IncomingRequest
    before(() => {
      server = createServer(async (message, response) => {
        const { status } = await createAccessTokens(settings())
          .admit(asked(message), WANTED)
          .catch((error: TokenRefused) => error)
          .then((result) => ({ status: 201, ...result }))
        response.writeHead(status).end()
      })
    })
    after(() => drain(server, 0))

    const FORMS: Record<string, typeof asked> = {
      "Node's": (message) => message,
      "Fastify's": (raw) => ({ headers: { ...raw.headers }, raw }),
      'that of a framework that lists values': ({ headersDistinct }) => ({ headers: headersDistinct }),
    }
    for (const [what, form] of Object.entries(FORMS))
      it(`answers 400 to ${what}`, async () => {
        asked = form
        const { authorization } = bearer(await issuer.token(CLIENT))
        if (!server.listening) await listen(server, { host: '127.0.0.1', port: 0 })
        const { port } = server.address() as { port: number }
        const headers = ['host', 'x', 'authorization', authorization, 'authorization', authorization]
        const [answer] = await once(request({ port, headers }).end(), 'response')
        assert.equal(answer.resume().statusCode, 400)
      })
  })
})
