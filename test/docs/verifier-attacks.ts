import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { exportSPKI, importJWK } from 'jose'
import { forBlock } from '../support/block.ts'
import { createTestClock } from '../support/clock.ts'
import { API_RESOURCE, createTestIssuer, ISSUER, type TestKey, type TokenOptions } from '../support/issuer.ts'
import { createTestPages } from '../support/revocations-page.ts'
import { buildVerifiers, type Language, type ProgramName, type Verifier } from './printed-verifiers.ts'

const CLIENT = { clientId: 'cli_a', vendorId: 'ven_a' }
const now_s = () => Math.floor(Date.now() / 1_000)
const COPY_LIFE_MS = 10_000
/** The life of keys in the programs that do not cache them for five minutes. */
const KEY_LIFE_MS = 1_000

/** Each is a token of the issuer but for this, and refused. */
const HOSTILE_TOKENS: Record<string, () => TokenOptions> = {
  'issued an hour ahead': () => ({ claims: { iat: now_s() + 3_600, exp: now_s() + 4_500 } }),
  'valid for ten years': () => ({ claims: { exp: now_s() + 315_360_000 } }),
  'valid for ten years, without iat': () => ({ claims: { iat: undefined, exp: now_s() + 315_360_000 } }),
  'without exp': () => ({ claims: { exp: undefined } }),
  'expired 30 seconds ago': () => ({ claims: { iat: now_s() - 930, exp: now_s() - 30 } }),
  'without client_id': () => ({ claims: { client_id: undefined } }),
  'without vendor_id': () => ({ claims: { vendor_id: undefined } }),
  'with a list as vendor_id': () => ({ claims: { vendor_id: ['ven_a', 'ven_b'] } }),
  'without jti': () => ({ claims: { jti: undefined } }),
  'for another audience too': () => ({ claims: { aud: [API_RESOURCE, 'https://other.test'] } }),
  'for another audience': () => ({ claims: { aud: 'https://other.test' } }),
  'without audience': () => ({ claims: { aud: undefined } }),
  'of another issuer': () => ({ claims: { iss: 'https://other.test' } }),
  'of the type JWT': () => ({ header: { typ: 'JWT' } }),
  'of no type': () => ({ header: { typ: undefined } }),
  'of the type of a revocations page': () => ({ header: { typ: 'revocations+jwt' } }),
  'without the scope': () => ({ claims: { scope: 'analytics:write' } }),
  'with a longer scope': () => ({ claims: { scope: 'analytics:reading xanalytics:read' } }),
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** The token with further members of its header, and with what `sign` makes of it for a signature. */
async function resigned(token: string, members: object, sign: (input: string) => string | Promise<string>) {
  const [header = '', payload] = token.split('.')
  const fields = JSON.parse(Buffer.from(header, 'base64url').toString())
  const input = `${encode({ ...fields, ...members })}.${payload}`
  return `${input}.${await sign(input)}`
}

/** RFC 7515 §4.1.11, RFC 7797. Only the issuer can sign such a token, and it never does. */
const HOSTILE_HEADERS: Record<string, object> = {
  'with an unknown crit': { crit: ['x'], x: 1 },
  'whose payload is not encoded, it says': { crit: ['b64'], b64: false },
}

const signBy = (key: TestKey) => async (input: string) => {
  const by = { name: 'ECDSA', hash: 'SHA-256' }
  return Buffer.from(await crypto.subtle.sign(by, key.privateKey, Buffer.from(input))).toString('base64url')
}

/** Runs this language's verifiers of /docs against an issuer that sends what they must refuse. */
export function describeVerifiers(language: Language): void {
  describe(`documentation: how to verify a token in ${language.name}, as it is printed`, () => {
    const clock = { ...createTestClock(), now: Date.now }
    const issuer = forBlock(() => createTestIssuer({ clock }))
    const pages = forBlock(() => createTestPages({ clock, key: issuer.key }))
    const verifiers = forBlock(() =>
      buildVerifiers(language, {
        '{issuer}/v1/oauth/jwks': issuer.jwksUrl,
        '{issuer}/v1/oauth/revocations': pages.url,
        '{issuer}': ISSUER,
        '{base_url}': API_RESOURCE,
      }),
    )
    let verifier: Verifier | undefined
    beforeEach(() => {
      issuer.published.splice(0, Number.POSITIVE_INFINITY, issuer.key.publicJwk)
      const empty = { clients: [], tokens: [], keys: [], claims: {}, header: {} }
      Object.assign(pages.page, empty, { key: issuer.key, answer: undefined })
    })
    const stop = () => {
      verifier?.stop()
      verifier = undefined
    }

    async function ask(program: ProgramName, line: string): Promise<string> {
      verifier ??= verifiers.start(program)
      return verifier.answer(line)
    }
    async function publishKey(): Promise<TestKey> {
      const key = await issuer.newKey('key-2', 'RS256')
      issuer.published.push(key.publicJwk)
      return key
    }
    const verify = async (options?: TokenOptions) => ask('verify', await issuer.token(CLIENT, options))

    describe('a token', () => {
      const refuses = async (token: string) => assert.match(await ask('verify', token), /^refused: /)
      after(stop)

      for (const [title, claims] of Object.entries({
        'as the server issues it': () => ({}),
        'of a server whose clock is a minute ahead': () => ({ iat: now_s() + 60, exp: now_s() + 960 }),
        'with a further scope': () => ({ scope: 'analytics:write analytics:read' }),
      }))
        it(`accepts one ${title}`, async () => assert.equal(await verify({ claims: claims() }), 'ok'))

      for (const [title, options] of Object.entries(HOSTILE_TOKENS))
        it(`refuses one ${title}`, async () => refuses(await issuer.token(CLIENT, options())))

      it("refuses one signed with a stranger's key under a published kid", async () =>
        refuses(await issuer.token(CLIENT, { key: await issuer.newKey('key-1') })))

      for (const [title, members] of Object.entries(HOSTILE_HEADERS))
        it(`refuses one ${title}`, async () =>
          refuses(await resigned(await issuer.token(CLIENT), members, signBy(issuer.key))))

      for (const alg of ['none', 'None', 'nOnE'])
        it(`refuses one without a signature, alg ${alg}`, async () =>
          refuses(await resigned(await issuer.token(CLIENT), { alg }, () => '')))

      for (const [title, secretOf] of Object.entries({
        'the public key as PEM': async ({ publicJwk }: TestKey) =>
          exportSPKI((await importJWK(publicJwk, 'ES256')) as CryptoKey),
        'the published key': async ({ publicJwk }: TestKey) => JSON.stringify(publicJwk),
        nothing: async () => '',
      }))
        it(`refuses one signed by HMAC with ${title}`, async () => {
          const secret = await secretOf(issuer.key)
          const sign = (input: string) => createHmac('sha256', secret).update(input).digest('base64url')
          await refuses(await resigned(await issuer.token(CLIENT), { alg: 'HS256' }, sign))
        })

      it('accepts a good one after all these', async () => assert.equal(await verify(), 'ok'))
    })

    describe('the key set', () => {
      afterEach(stop)

      it('is fetched once more at most for a hundred forged tokens with unknown kids', async () => {
        assert.equal(await verify(), 'ok')
        const [before, began_ms] = [issuer.requests.length, performance.now()]
        const forged = await issuer.newKey('forged')
        for (let i = 0; i < 100; i += 1)
          assert.match(await verify({ key: { ...forged, kid: `forged-${i}` } }), /^refused: /)
        // They take a busy machine longer than the 10 seconds between two fetches.
        const most = 1 + Math.floor((performance.now() - began_ms) / 10_000)
        assert.ok(issuer.requests.length - before <= most, `fetched ${issuer.requests.length - before} times`)
        assert.equal(await verify(), 'ok')
      })

      it('is renewed, so that a withdrawn key verifies no token', async () => {
        verifier = verifiers.start('verify', 'second')
        const withdrawn = await publishKey()
        assert.equal(await verify({ key: withdrawn }), 'ok')
        issuer.published.pop()
        await sleep(KEY_LIFE_MS + 500)
        assert.match(await verify({ key: withdrawn }), /^refused: /)
        assert.equal(await verify(), 'ok')
      })
    })

    const poll = () => ask('revocations', '')
    const live = () => ask('revocations', `key-1 ${CLIENT.clientId} jti-a`)

    describe('the revocations page', () => {
      afterEach(stop)

      for (const [list, id] of [
        ['clients', CLIENT.clientId],
        ['tokens', 'jti-a'],
        ['keys', 'key-1'],
      ] as const)
        it(`revokes what it lists in ${list}, and nothing else`, async () => {
          // No page is signed with a key that it lists.
          pages.page.key = await publishKey()
          pages.page[list].push(id)
          assert.equal(await poll(), 'ok')
          assert.match(await live(), /401/)
          assert.equal(await ask('revocations', 'key-2 cli_b jti-b'), 'ok')
        })

      it('adds what a page lists that is no later than the copy, as of a server whose clock is behind', async () => {
        await poll()
        assert.equal(await live(), 'ok')
        pages.page.claims.iat = now_s() - 5
        pages.page.clients.push(CLIENT.clientId)
        await poll()
        assert.match(await live(), /401/)
      })

      it('keeps what it knows when an earlier page comes again', async () => {
        pages.page.clients.push(CLIENT.clientId)
        await poll()
        pages.page.claims.iat = now_s() - 5
        pages.page.clients.length = 0
        await poll()
        assert.match(await live(), /401/)
      })

      it('refuses one signed with a key that the page before lists', async () => {
        const revoked = await publishKey()
        pages.page.keys.push(revoked.kid)
        assert.equal(await poll(), 'ok')
        pages.page.keys.length = 0
        pages.page.key = revoked
        assert.match(await poll(), /^refused: /)
      })

      it('renews the key set, so that a withdrawn key signs no page', async () => {
        verifier = verifiers.start('revocations', 'second')
        pages.page.key = await publishKey()
        assert.equal(await poll(), 'ok')
        issuer.published.pop()
        await sleep(KEY_LIFE_MS + 500)
        assert.match(await poll(), /^refused: /)
      })

      it('decides for ten seconds, and a later one that was held back decides no longer', async () => {
        const iat = now_s()
        pages.page.claims.iat = iat
        assert.deepEqual([await poll(), await live()], ['ok', 'ok'])
        const suspended = verifiers.start('revocations', 'second')
        const answers = [await suspended.answer(''), await suspended.answer('key-1 cli_a jti-a')]
        assert.deepEqual(answers, ['ok', 'ok'])
        await sleep(COPY_LIFE_MS + 1_500)
        assert.match(await live(), /503/)
        assert.match(await suspended.answer('key-1 cli_a jti-a'), /503/)
        pages.page.claims.iat = iat + 1
        await poll()
        assert.match(await live(), /503/)
        pages.page.claims = {}
        assert.deepEqual([await poll(), await live()], ['ok', 'ok'])
      })
    })

    describe('a revocations page that decides nothing', () => {
      after(stop)

      async function decidesNothing() {
        assert.match(await live(), /503/)
        assert.match(await poll(), /^refused: /)
        assert.match(await live(), /503/)
      }

      for (const [title, change] of Object.entries({
        'of another type': () => ({ header: { typ: 'at+jwt' } }),
        'of another issuer': () => ({ claims: { iss: 'https://other.test' } }),
        'made 200 seconds ago': () => ({ claims: { iat: now_s() - 200 } }),
        'made 200 seconds ahead': () => ({ claims: { iat: now_s() + 200 } }),
        'without iat': () => ({ claims: { iat: undefined } }),
        'with an object for a list': () => ({ claims: { tokens: {} } }),
        'with a string for a list': () => ({ claims: { tokens: 'none' } }),
        'without a list': () => ({ claims: { keys: undefined } }),
        'signed with a key that it lists': () => ({ keys: ['key-1'] }),
      } satisfies Record<string, () => object>))
        it(`accepts nothing by one ${title}`, async () => {
          Object.assign(pages.page, change())
          await decidesNothing()
        })

      for (const [title, members] of Object.entries(HOSTILE_HEADERS))
        it(`accepts nothing by one ${title}`, async () => {
          const page = await resigned(await pages.signed(), members, signBy(issuer.key))
          pages.page.answer = (response) => void response.end(page)
          await decidesNothing()
        })

      // The last is a page that is kept, but too old to decide.
      for (const age of ['-3600', '-Infinity', '1, 2', '0 and again 20', '3600'])
        it(`accepts nothing by one with the Age ${age}`, async () => {
          const page = await pages.signed()
          pages.page.answer = (response) => void response.setHeader('age', age.split(' and again ')).end(page)
          await poll()
          assert.match(await live(), /503/)
        })

      for (const status of [301, 302, 303, 307, 308])
        it(`follows no redirect with status ${status}, not even to a good page`, async () => {
          pages.page.answer = (response) => {
            pages.page.answer = undefined
            response.writeHead(status, { location: pages.url.replace('127.0.0.1', 'localhost') }).end()
          }
          assert.match(await poll(), /^refused: /)
        })
    })
  })
}
