import { strict as assert } from 'node:assert'
import { hash } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { insertRevokedSigningKey, insertRevokedToken } from '#shared/revocation/state.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { createGetRevocations } from '../../apps/auth/get-revocations.ts'
import { type Handler, type HttpAnswer, type OAuthExchange, OAuthRefusal } from '../../apps/auth/http.ts'
import { createKeyRing, type KeyRing } from '../../apps/auth/key-ring.ts'
import { sharedAuth } from '../support/auth.ts'
import { eventually } from '../support/eventually.ts'
import { ISSUER } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { cutOffDatabase, FENCES, untilBlocked } from '../support/stores.ts'

const PATH = '/v1/oauth/revocations'
const PAGE_LIFE_MS = 1_000
const HOUR_MS = 3_600_000

interface Page {
  iss: string
  iat: number
  clients: string[]
  tokens: string[]
  keys: string[]
}

const digest = (id: string): string => hash('sha256', id, 'buffer').subarray(0, 12).toString('base64url')

describe(`GET ${PATH}`, () => {
  const auth = sharedAuth()
  let db: Database
  let keys: KeyRing
  let handler: Handler
  let now_ms = 0
  before(async () => {
    db = auth.database.connect('auth', { poolSize: 4, applicationName: 'pages' })
    const parts = { db, clock: auth.clock, log: silentLog() }
    keys = createKeyRing({ ...parts, alg: 'ES256', encryptionKey: [auth.encryptionKey] })
    await keys.start()
    const clockWatch = { isRight: () => true }
    handler = createGetRevocations({
      ...parts,
      keys,
      clockWatch,
      issuer: ISSUER,
      monotonic: () => now_ms,
    })
  })

  /** What the handler answers when the last page is not yet a second old, or now. */
  async function read(headers: Record<string, string> = {}, ask = handler): Promise<HttpAnswer> {
    const headersDistinct = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value]]),
    )
    const answer = await ask({ request: { headers, headersDistinct } } as unknown as OAuthExchange)
    return answer instanceof OAuthRefusal ? answer.answer('') : answer
  }
  function fresh(): Promise<HttpAnswer> {
    now_ms += PAGE_LIFE_MS
    return read()
  }
  const readTag = ({ headers }: HttpAnswer): string | undefined => headers.ETag

  function readClaims({ status, body }: HttpAnswer): Page {
    assert.equal(status, 200, body.toString())
    return decodeJwt<Page>(body.toString())
  }
  const revokeToken = (jti: string, expiresAt_ms: number) =>
    insertRevokedToken(auth.db, { jti, clientId: null as never, expiresAt: new Date(expiresAt_ms) })

  it('is a JWT with a type and claims of its own, signed with the key that signs tokens', async () => {
    const client = await auth.createClient()
    const response = await auth.request('GET', PATH)
    assert.equal(response.status, 200, response.text)
    const { kid } = decodeProtectedHeader((await auth.token(client)).json.access_token)
    assert.deepEqual(decodeProtectedHeader(response.text), { alg: 'ES256', typ: 'revocations+jwt', kid })
    const jwks = createLocalJWKSet((await auth.request('GET', '/v1/oauth/jwks')).json)
    const { payload } = await jwtVerify<Page>(response.text, jwks, {
      typ: 'revocations+jwt',
      issuer: ISSUER,
    })
    assert.deepEqual(Object.keys(payload), ['iss', 'iat', 'clients', 'tokens', 'keys'])
    assert.equal(payload.iat, Math.floor(auth.clock.now() / 1_000))
    const expected = {
      'content-type': 'application/jwt',
      'cache-control': 'public, max-age=1',
      'access-control-allow-origin': '*',
    }
    for (const [name, value] of Object.entries(expected)) assert.equal(response.headers.get(name), value)
  })

  it('is dated before its statement, which may take a while', async () => {
    const asked_ms = auth.clock.now()
    const transaction = await auth.db.transaction()
    await transaction.raw('lock table revoked_tokens in access exclusive mode')
    const page = fresh()
    await untilBlocked(auth.db)
    auth.clock.advance(30_000)
    await transaction.rollback()
    const answer = await page.finally(() => auth.clock.advance(-30_000))
    assert.equal(readClaims(answer).iat, Math.floor(asked_ms / 1_000))
  })

  it('lists what is revoked in sorted order, as digests that give no id away', async () => {
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => auth.createClient()))
    for (const client of clients) await auth.markRevoked(client)
    const jtis = ['one', 'two', 'with "quotes" \\ and é']
    for (const jti of jtis) await revokeToken(jti, auth.clock.now() + 900_000)
    const answer = await fresh()
    const page = readClaims(answer)
    assert.deepEqual(page.clients, clients.map(({ clientId }) => digest(clientId)).sort())
    assert.deepEqual(page.tokens, jtis.map(digest).sort())
    assert.deepEqual(page.keys, [])
    const written = Buffer.from(answer.body.toString().split('.')[1] ?? '', 'base64url').toString()
    for (const { clientId } of clients) assert.ok(!written.includes(clientId))
  })

  it('lists a key permanently, and is signed with its successor', async () => {
    const kid = keys.signer()?.kid ?? ''
    assert.equal(decodeProtectedHeader((await fresh()).body.toString()).kid, kid)
    // Only Postgres knows.
    await insertRevokedSigningKey(auth.db, kid)
    await auth.db.raw(`update revoked_signing_keys set revoked_at = '2020-01-01'`)
    const answer = await fresh()
    assert.deepEqual(readClaims(answer).keys, [digest(kid)])
    const successor = decodeProtectedHeader(answer.body.toString()).kid as string
    assert.notEqual(successor, kid)
    const set = await keys.jwks()
    assert.ok(set?.includes(successor) && !set.includes(kid))
  })

  it('leaves out what cannot matter any more: clients after a day, tokens once any clock has them expired', async () => {
    const [old, recent] = [await auth.createClient(), await auth.createClient()]
    const at_ms = auth.clock.now()
    for (const [client, age_ms] of [
      [old, 24.1 * HOUR_MS],
      [recent, 23.9 * HOUR_MS],
    ] as const)
      await auth.db.raw(`update oauth_clients set status = 'Revoked', revoked_at = ? where client_id = ?`, [
        new Date(at_ms - age_ms),
        client.clientId,
      ])
    await revokeToken('over', at_ms - 310_000)
    await revokeToken('over by some clocks', at_ms - 290_000)
    const { clients, tokens } = readClaims(await fresh())
    assert.ok(clients.includes(digest(recent.clientId)) && !clients.includes(digest(old.clientId)))
    assert.ok(tokens.includes(digest('over by some clocks')) && !tokens.includes(digest('over')))
  })

  it('lists a token that has expired only by the clock of Postgres, which is hours ahead', async () => {
    auth.clock.advance(-2 * HOUR_MS)
    await revokeToken('expired only there', auth.clock.now() + 900_000)
    const { tokens } = readClaims(await fresh().finally(() => auth.clock.advance(2 * HOUR_MS)))
    assert.ok(tokens.includes(digest('expired only there')))
  })

  it('is answered with 304 to its own tag', async () => {
    const tag = readTag(await fresh()) ?? ''
    assert.equal((await read({ 'if-none-match': tag })).status, 304)
    assert.equal((await read({ 'if-match': '"another"' })).status, 412)
  })

  for (const [why, begin, end] of FENCES)
    it(`is 503 while ${why}`, async () => {
      await auth.db.raw(begin)
      assertUnavailable(await fresh().finally(() => auth.db.raw(end)))
      assert.equal((await fresh()).status, 200)
    })

  it('is 503 while Postgres does not answer, and tries again after a second', async () => {
    const restore = await cutOffDatabase(auth.database)
    assertUnavailable(await fresh().finally(restore))
    now_ms += PAGE_LIFE_MS - 1
    assertUnavailable(await read())
    now_ms += 1
    assert.equal((await read()).status, 200)
  })

  it('is 503 while the statement takes too long', async () => {
    const transaction = await lockedTokens()
    assertUnavailable(await fresh().finally(() => transaction.rollback()))
  })

  it('is made once a second at most, however many ask', async () => {
    const ask = () => Promise.all(Array.from({ length: 100 }, () => read()))
    now_ms += PAGE_LIFE_MS
    const first = new Set((await ask()).map(readTag))
    assert.equal(first.size, 1)
    now_ms += PAGE_LIFE_MS - 1
    assert.deepEqual(new Set((await ask()).map(readTag)), first)
    now_ms += 1
    const second = new Set((await ask()).map(readTag))
    assert.equal(second.size, 1)
    assert.notDeepEqual(second, first)
  })

  it('is made anew for a request that comes over a second after a slow one began, and one at a time', async () => {
    const transaction = await lockedTokens()
    const waiting = `from pg_stat_activity where application_name = 'pages' and wait_event_type = 'Lock'`
    const running = async () => (await auth.db.raw(`select count(*)::int as count ${waiting}`)).rows[0].count
    const slow = fresh()
    await eventually(async () => (await running()) > 0)
    now_ms += PAGE_LIFE_MS
    const late = [read(), read(), read()]
    await auth.db.raw('select pg_sleep(0.1)')
    assert.equal(await running(), 1)
    await transaction.rollback()
    const [first, ...others] = (await Promise.all([slow, ...late])).map(readTag)
    assert.equal(new Set(others).size, 1)
    assert.ok(first && others[0] && first !== others[0])
  })

  it('is shared by all requests that waited for it, however long it took', async () => {
    let statements = 0
    const slow: Handler = createGetRevocations({
      db: {
        async raw(...query: Parameters<Database['raw']>) {
          statements += 1
          const result = await db.raw(...query)
          now_ms += PAGE_LIFE_MS
          return result
        },
      } as unknown as Database,
      keys,
      clock: auth.clock,
      clockWatch: { isRight: () => true },
      issuer: ISSUER,
      monotonic: () => now_ms,
    })
    const tags = await Promise.all(Array.from({ length: 20 }, async () => readTag(await read({}, slow))))
    assert.equal(statements, 1)
    assert.equal(new Set(tags).size, 1)
    await read({}, slow)
    assert.equal(statements, 2)
  })

  /** A transaction that every statement about revoked tokens waits for. */
  async function lockedTokens() {
    const transaction = await auth.db.transaction()
    await transaction.raw('lock table revoked_tokens in access exclusive mode')
    return transaction
  }
})

function assertUnavailable({ status, body, headers }: HttpAnswer): void {
  assert.equal(status, 503)
  assert.equal(JSON.parse(body.toString()).error, 'temporarily_unavailable')
  assert.equal(headers['Cache-Control'], 'no-store')
  assert.equal(headers['Retry-After'], '2')
}
