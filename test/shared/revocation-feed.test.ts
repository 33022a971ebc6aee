import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { createRevocationFeed, type RevocationFeed } from '#shared/access-tokens/revocation-feed.ts'
import { createSigningKeys, type SigningKeys } from '#shared/access-tokens/signing-keys.ts'
import { forEachTest } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { createTestIssuer, ISSUER } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { createTestPages, type TestPage } from '../support/revocations-page.ts'

const CLIENT = { clientId: 'cli_a', kid: 'key-1', jti: 'jti-a' }
const REVOKED = { ...CLIENT, clientId: 'cli_revoked' }
const BY_CLIENT = { revoked: 'client' }

describe('the revocation feed', () => {
  let keys: SigningKeys
  let feed: RevocationFeed
  afterEach(() => {
    feed.stop()
    keys.stop()
  })
  const clock = forEachTest(createTestClock)
  const issuer = forEachTest(() => createTestIssuer({ clock }))
  const pages = forEachTest(() => createTestPages({ clock, key: issuer.key }))
  let now_ms: number
  let warnings: string[]
  beforeEach(async () => {
    now_ms = 0
    warnings = []
    keys = createSigningKeys({ url: issuer.jwksUrl, clock, log: silentLog() })
    await keys.start()
    pages.page.clients.push(REVOKED.clientId)
    feed = createFeed()
  })

  /** Its timeout is for busy machines: no test waits for it, unless it asks for the feed's own. */
  const createFeed = (options: { timeout_ms?: number } = { timeout_ms: 60_000 }) =>
    createRevocationFeed({
      url: pages.url,
      issuer: ISSUER,
      keys,
      clock,
      monotonic: () => now_ms,
      log: { warn: (fields) => warnings.push(String((fields as { reason: string }).reason)) },
      pollEvery_ms: 20,
      ...options,
    })

  /** Moves both clocks, as time does. */
  const pass = (duration_ms: number) => {
    now_ms += duration_ms
    clock.advance(duration_ms)
  }
  const unavailable = (response: ServerResponse) => void response.writeHead(503).end()
  const ask = (asked: Partial<typeof CLIENT> = {}) => feed.ask({ ...CLIENT, ...asked })
  /** Returns what the feed says after its next poll. */
  const polled = async (asked?: Partial<typeof CLIENT>) => {
    await pages.polled()
    return ask(asked)
  }
  /** Returns what the feed says of a live client and of a revoked one. */
  const askBoth = async () => [await ask(), await feed.ask(REVOKED)]

  it('names what was revoked: the client, the key or the token', async () => {
    pages.page.keys.push('key-0')
    pages.page.tokens.push('jti-revoked')
    await feed.start()
    assert.deepEqual(await askBoth(), ['live', BY_CLIENT])
    assert.deepEqual(await ask({ kid: 'key-0' }), { revoked: 'key' })
    assert.deepEqual(await ask({ jti: 'jti-revoked' }), { revoked: 'token' })
    // An id is looked for among its own kind.
    assert.equal(await ask({ jti: REVOKED.clientId }), 'live')
  })

  it('leaves everything undecided before its first page, and again once the copy is older than 10 s', async () => {
    assert.deepEqual([feed.usable(), await ask()], [false, 'undecided'])
    await feed.start()
    pages.page.answer = unavailable
    pass(10_000)
    assert.equal(await polled(), 'live')
    pass(1)
    assert.deepEqual([feed.usable(), ...(await askBoth())], [false, 'undecided', 'undecided'])
    pages.page.answer = undefined
    assert.equal(await polled(), 'live')
    assert.deepEqual(warnings, ['answered 503'])
  })

  it('counts the age of a copy from when its request was sent', async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    pages.page.answer = asked.resolve
    const started = feed.start()
    const held = await asked.promise
    const page = await pages.signed()
    pass(10_001)
    held.end(page)
    await started
    assert.equal(await ask(), 'undecided')
  })

  it('adds the Age that a cache gives a page', async () => {
    const aged = async (age: string) => {
      const page = await pages.signed()
      pages.page.answer = (response) => void response.writeHead(200, { age }).end(page)
      await pages.polled()
    }
    pages.page.answer = unavailable
    await feed.start()
    await aged('11')
    assert.equal(await ask(), 'undecided')
    pass(2_000)
    await aged('9')
    assert.equal(await ask(), 'live')
    pass(1_001)
    assert.equal(await ask(), 'undecided')
    pass(1_000)
    await aged('-1')
    assert.equal(await ask(), 'undecided')
    assert.equal(warnings.at(-1), 'has an Age that is not a number')
  })

  it('replaces no copy by a page that a cache kept for longer, though the page says that it is newer', async () => {
    await feed.start()
    pages.page.answer = unavailable
    clock.advance(2_000)
    pages.page.clients.length = 0
    const page = await pages.signed()
    pages.page.answer = (response) => void response.writeHead(200, { age: '5' }).end(page)
    assert.deepEqual(await polled(REVOKED), BY_CLIENT)
  })

  it('counts the time for which a page was held back, though nothing says so, and each page is newer', async () => {
    await feed.start()
    pages.page.answer = unavailable
    const made: string[] = []
    for (let second = 0; second < 12; second += 1) {
      pass(1_000)
      made.push(await pages.signed())
    }
    const late = async (page: string | undefined) => {
      pages.page.answer = (response) => void response.end(page)
      await pages.polled()
    }
    // Ten seconds late: the last moment at which a copy decides.
    await late(made[1])
    assert.equal(await ask(), 'live')
    pass(1_000)
    await late(made[1])
    assert.equal(await ask(), 'undecided')
    await late(made[2])
    assert.equal(await ask(), 'live')
    for (const page of made.slice(3, 8)) {
      pass(2_000)
      await late(page)
      assert.equal(await ask(), 'undecided')
    }
    assert.equal(warnings.at(-1), 'arrives later than pages did before')
    await late(undefined)
    pages.page.answer = undefined
    assert.equal(await polled(), 'live')
  })

  for (const [ahead_s, answer] of [
    [9, 'live'],
    [11, 'undecided'],
  ] as const)
    it(`finds clients ${answer} by the pages of one server after those of another ${ahead_s} s ahead`, async () => {
      pages.page.claims = { iat: Math.floor(clock.now() / 1_000) + ahead_s }
      await feed.start()
      pages.page.claims = {}
      pass(12_000)
      assert.equal(await polled(), answer)
      feed.stop()
      feed = createFeed()
      await feed.start()
      assert.equal(await ask(), 'live', 'until the service is restarted')
    })

  it('bears a clock that goes faster than that of the issuer, as quartz does', async () => {
    await feed.start()
    for (const _ of Array(30)) {
      pass(24 * 3_600_000)
      now_ms += 8_640
      await pages.polled()
    }
    assert.equal(await ask(), 'live')
  })

  it('counts ages by whichever clock went further, since one can be set, and one stops in a suspended machine', async () => {
    await feed.start()
    pages.page.answer = unavailable
    clock.advance(10_000)
    assert.equal(await ask(), 'live')
    clock.advance(1)
    assert.equal(await ask(), 'undecided')
    clock.advance(-3_600_000)
    now_ms += 10_001
    assert.equal(await ask(), 'undecided')
  })

  const seconds = (offset_s: number) => Math.floor(clock.now() / 1_000) + offset_s
  /** What differs in a page that is in order. */
  const REFUSED: Record<string, () => Promise<Partial<TestPage>>> = {
    'is an access token': async () => ({ header: { typ: 'at+jwt' } }),
    'is of another issuer': async () => ({ claims: { iss: 'https://other.test' } }),
    'says no time': async () => ({ claims: { iat: undefined } }),
    'was made more than 130 s ago by this clock': async () => ({ claims: { iat: seconds(-131) } }),
    'was made more than 130 s ahead of this clock': async () => ({ claims: { iat: seconds(142) } }),
    'lacks a list': async () => ({ claims: { tokens: undefined } }),
    'has a list of something else': async () => ({ claims: { clients: [1] } }),
    'has digests of another length': async () => ({ claims: { keys: ['c2hvcnQ'] } }),
    'is signed by a stranger under a known kid': async () => ({ key: await issuer.newKey('key-1') }),
    'names an unknown kid': async () => ({ header: { kid: 'unknown' } }),
    'lists the key that it is signed with': async () => ({ keys: ['key-1'] }),
  }
  for (const [what, attack] of Object.entries(REFUSED))
    it(`refuses a page that ${what}`, async () => {
      await feed.start()
      // Until the page is whole, a poll must not get a good one.
      pages.page.answer = unavailable
      pass(1_000)
      Object.assign(pages.page, { clients: [], ...(await attack()), answer: undefined })
      assert.deepEqual(await polled(REVOKED), BY_CLIENT)
      pass(9_001)
      assert.equal(await polled(), 'undecided')
      assert.notEqual(warnings.at(-1), 'answered 503')
      assert.ok(warnings.length > 0)
    })

  it('takes a page made 130 s from its own clock, either way, and does not begin with an older one', async () => {
    pages.page.claims.iat = seconds(-131)
    await feed.start()
    assert.equal(await ask(), 'undecided')
    pages.page.claims.iat = seconds(-129)
    assert.equal(await polled(), 'live')
    pages.page.claims.iat = seconds(130)
    pages.page.clients.push(CLIENT.clientId)
    assert.deepEqual(await polled(), BY_CLIENT)
  })

  const ANSWERS: Record<string, (response: ServerResponse, page: string) => void> = {
    'an error': (response, page) => void response.writeHead(500).end(page),
    'a redirect to a page': (response, page) => {
      if (response.req.url?.endsWith('?elsewhere')) response.end(page)
      else response.writeHead(302, { location: `${pages.url}?elsewhere` }).end(page)
    },
    unsigned: (response, page) =>
      void response.end(`${btoa('{"alg":"none","typ":"revocations+jwt"}')}.${page.split('.')[1]}.`),
    'larger than 8 MiB': (response, page) => void response.end(page + ' '.repeat(8 * 1_024 * 1_024)),
    'larger than that when it is unpacked': (response, page) => {
      const packed = gzipSync(page + ' '.repeat(8 * 1_024 * 1_024))
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
    },
    'cut off': (response, page) => {
      response.writeHead(200, { 'content-length': page.length + 1 }).write(page, () => response.destroy())
    },
  }
  for (const [what, answer] of Object.entries(ANSWERS))
    it(`keeps its copy when the answer is ${what}`, async () => {
      await feed.start()
      pages.page.answer = unavailable
      pass(1_000)
      pages.page.clients.length = 0
      const page = await pages.signed()
      pages.page.answer = (response) => answer(response, page)
      assert.deepEqual(await polled(REVOKED), BY_CLIENT)
      pass(9_001)
      assert.equal(await ask(), 'undecided')
    })

  it('never replaces its copy by an older page, whoever replays it, nor takes it for a sign of life', async () => {
    pages.page.clients.length = 0
    const before = await pages.signed()
    clock.advance(1_000)
    pages.page.clients.push(REVOKED.clientId)
    await feed.start()
    pages.page.answer = (response) => void response.end(before)
    now_ms += 10_000
    assert.deepEqual(await polled(REVOKED), BY_CLIENT)
    now_ms += 1
    assert.equal(await polled(REVOKED), 'undecided')
    assert.deepEqual(warnings, ['is older than the page before'])
  })

  it('takes from an older page what it adds', async () => {
    pages.page.claims.iat = seconds(1)
    await feed.start()
    pages.page.claims.iat = seconds(0)
    pages.page.keys.push('key-0')
    pages.page.tokens.push('jti-revoked')
    await pages.polled()
    const asked = [await ask({ kid: 'key-0' }), await ask({ jti: 'jti-revoked' }), await feed.ask(REVOKED)]
    assert.deepEqual(asked, [{ revoked: 'key' }, { revoked: 'token' }, BY_CLIENT])
    pages.page.clients.splice(0, 1, CLIENT.clientId)
    await pages.polled()
    assert.deepEqual(await askBoth(), [BY_CLIENT, BY_CLIENT])
  })

  it('takes from another page of the same second what it adds, and loses nothing', async () => {
    await feed.start()
    pages.page.clients.splice(0, 1, CLIENT.clientId)
    now_ms += 900
    await pages.polled()
    assert.deepEqual(await askBoth(), [BY_CLIENT, BY_CLIENT])
    // The same page, sent again and again, keeps nothing alive.
    now_ms += 9_101
    assert.equal(await polled(), 'undecided')
  })

  it('refuses what a stolen key signs from when the key was revoked, though the key set is still remembered', async () => {
    const thief = issuer.key
    const next = await issuer.newKey('key-2')
    issuer.published.push(next.publicJwk)
    pages.page.key = next
    pages.page.keys.push(thief.kid)
    await feed.start()
    pass(1_000)
    Object.assign(pages.page, { key: thief, keys: [], clients: [] })
    await pages.polled()
    assert.ok(keys.known(thief.kid))
    assert.deepEqual(await askBoth(), [{ revoked: 'key' }, BY_CLIENT])
    assert.deepEqual(warnings, ['is signed with a revoked key'])
  })

  it('drops what a newer page no longer lists', async () => {
    await feed.start()
    pass(1_000)
    pages.page.clients.length = 0
    assert.equal(await polled(REVOKED), 'live')
  })

  it('polls over one connection, one request at a time, however slow the answers are', async () => {
    pages.page.answer = async (response) => {
      await sleep(50)
      response.end(await pages.signed())
    }
    await feed.start()
    await pages.polled()
    await pages.polled()
    assert.deepEqual([pages.counts.connections, pages.counts.atOnce], [1, 1])
  })

  it('logs each outage once, though the next has the same reason', async () => {
    await feed.start()
    for (const answer of [unavailable, undefined, unavailable]) {
      pages.page.answer = answer
      for (let n = 0; n < 3; n += 1) await pages.polled()
    }
    assert.equal(warnings.length, 2, warnings.join())
  })

  it('gives up on an answer that never ends, and asks again', async () => {
    feed = createFeed({})
    pages.page.answer = (response) => void response.write('e')
    const from_ms = performance.now()
    await feed.start()
    const took_ms = performance.now() - from_ms
    assert.ok(took_ms < 30_000, `${took_ms} ms`)
    assert.equal(await ask(), 'undecided')
    pages.page.answer = undefined
    await eventually(async () => (await ask()) === 'live')
    assert.equal(pages.counts.atOnce, 1)
  })

  it('asks nothing more once it was stopped, and ends the request under way', async () => {
    await feed.start()
    const asked = Promise.withResolvers<ServerResponse>()
    pages.page.answer = asked.resolve
    const closed = once(await asked.promise, 'close', { signal: AbortSignal.timeout(30_000) })
    feed.stop()
    await closed
    const atEnd = pages.counts.requests
    await sleep(100)
    assert.equal(pages.counts.requests, atEnd)
    assert.deepEqual(warnings, [])
  })

  it('holds a hundred thousand revocations', async () => {
    pages.page.tokens = Array.from({ length: 100_000 }, (_, i) => `jti-${i}`)
    await feed.start()
    assert.deepEqual(await ask({ jti: 'jti-99999' }), { revoked: 'token' })
    assert.equal(await ask(), 'live')
  })
})
