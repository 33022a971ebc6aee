import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { createRevocation } from '#shared/revocation/revocation.ts'
import { insertRevokedSigningKey, insertRevokedToken } from '#shared/revocation/state.ts'
import { PRODUCTION_TIMINGS } from '#shared/revocation/timings.ts'
import type { Database, Queryable } from '#shared/stores/postgres.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { createGetRevocations } from '../../apps/auth/get-revocations.ts'
import { type Handler, type HttpAnswer, type OAuthExchange, OAuthRefusal } from '../../apps/auth/http.ts'
import { createKeyRing, type KeyRing } from '../../apps/auth/key-ring.ts'
import { sharedAuth } from '../support/auth.ts'
import { afterwards } from '../support/block.ts'
import { passing, stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { ISSUER } from '../support/issuer.ts'
import { silentLog } from '../support/log.ts'
import { dump, restartFrom, asAdmin as runAsAdmin } from '../support/revocation.ts'
import { digest } from '../support/revocations-page.ts'
import {
  countBlocked,
  cutOffDatabase,
  FENCES,
  lockTable,
  SILENT_DATABASE,
  untilBlocked,
} from '../support/stores.ts'

const PATH = '/v1/oauth/revocations'
const PAGE_LIFE_MS = 1_000
/** Clocks that differ by more share no page. */
const APART_MAX_MS = 3_000
const HOUR_MS = 3_600_000

type Page = { iat: number } & Record<'clients' | 'tokens' | 'keys', string[]>

type Queries = Pick<Database, 'raw'>

/** The queries of a process. Before each statement `first` runs, and after it `then`. */
const around = (db: Database, first: () => unknown, then = () => {}): Queries => ({
  raw: (async (...query: Parameters<Queries['raw']>) => {
    await first()
    const result = await db.raw(...query)
    then()
    return result
  }) as never,
})

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
    handler = await createHandler()
  })

  /** The route at one more process, with its own connection to Redis. */
  async function createHandler(queries: Queries = db, onTick = () => {}): Promise<Handler> {
    const redis = await auth.redis.connect('auth')
    const timings = { ...PRODUCTION_TIMINGS, tick_ms: 20 }
    const monotonic = () => now_ms
    return createGetRevocations({
      db: queries as Queryable,
      revocation: createRevocation({ redis, db, timings, monotonic, onTick }),
      keys,
      clock: auth.clock,
      clockWatch: { isRight: () => true },
      issuer: ISSUER,
      monotonic,
    })
  }

  /** What the handler answers when the last page is not yet a second old, or now. */
  async function read(headers: Record<string, string> = {}, ask = handler): Promise<HttpAnswer> {
    const distinct = Object.entries(headers).map(([name, value]) => [name, [value]])
    const headersDistinct = Object.fromEntries(distinct)
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
  const revokeToken = (jti: string, expiresAt_ms = auth.clock.now() + 900_000) =>
    insertRevokedToken(auth.db, { jti, clientId: null as never, expiresAt: new Date(expiresAt_ms) })

  it('is dated before its statement, which may take a while', async () => {
    const asked_ms = auth.clock.now()
    const lock = await lockTokens()
    const page = fresh()
    await untilBlocked(auth.db)
    auth.clock.advance(30_000)
    await lock.rollback()
    const answer = await page.finally(() => auth.clock.advance(-30_000))
    assert.equal(readClaims(answer).iat, Math.floor(asked_ms / 1_000))
  })

  it('lists what is revoked in sorted order, as digests that give no id away', async () => {
    const clients = await Promise.all([1, 2, 3, 4, 5].map(() => auth.createClient()))
    for (const client of clients) await auth.markRevoked(client)
    const jtis = ['one', 'two', 'with "quotes" \\ and é']
    for (const jti of jtis) await revokeToken(jti)
    const { iat: _, ...page } = readClaims(await fresh())
    const digests = clients.map(({ clientId }) => digest(clientId)).sort()
    assert.deepEqual(page, { iss: ISSUER, clients: digests, tokens: jtis.map(digest).sort(), keys: [] })
  })

  it('lists a key permanently, and is signed with its successor', async () => {
    const kids: string[] = await auth.db('signing_keys').pluck('kid')
    assert.equal(decodeProtectedHeader((await fresh()).body.toString()).kid, keys.signer()?.kid)
    // Only Postgres knows, also of the key that would be next.
    for (const kid of kids) await insertRevokedSigningKey(auth.db, kid)
    await auth.db.raw(`update revoked_signing_keys set revoked_at = '2020-01-01'`)
    const answer = await fresh()
    assert.deepEqual(readClaims(answer).keys, kids.map(digest).sort())
    const successor = decodeProtectedHeader(answer.body.toString()).kid as string
    const set = (await keys.jwks()) ?? ''
    assert.deepEqual(
      [...kids, successor].map((kid) => set.includes(kid)),
      [false, false, true],
    )
    await jwtVerify(answer.body.toString(), createLocalJWKSet(JSON.parse(set)))
  })

  it('leaves out what cannot matter any more: clients after a day, tokens once any clock has them expired', async () => {
    const at_ms = auth.clock.now()
    const revokedClient = async (ago_h: number) => {
      const { clientId: client_id } = await auth.createClient()
      const revoked_at = new Date(at_ms - ago_h * HOUR_MS)
      await auth.db('oauth_clients').where({ client_id }).update({ status: 'Revoked', revoked_at })
      return digest(client_id)
    }
    const [old, recent] = [await revokedClient(24.1), await revokedClient(23.9)]
    await revokeToken('over', at_ms - 310_000)
    await revokeToken('over by some clocks', at_ms - 290_000)
    const { clients, tokens } = readClaims(await fresh())
    assert.ok(clients.includes(recent) && !clients.includes(old))
    assert.ok(tokens.includes(digest('over by some clocks')) && !tokens.includes(digest('over')))
  })

  it('lists a token that has expired only by the clock of Postgres, which is hours ahead', async () => {
    auth.clock.advance(-2 * HOUR_MS)
    await revokeToken('expired only there')
    const { tokens } = readClaims(await fresh().finally(() => auth.clock.advance(2 * HOUR_MS)))
    assert.ok(tokens.includes(digest('expired only there')))
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

  it('is 503 when the statement takes three seconds', async () => {
    const obtainPage = async (_conditions: object, create: () => Promise<string | undefined>) => ({
      text: await passing(3_000, create),
      startedAt_ms: 0,
    })
    const revocation = { obtainPage } as never
    const parts = { keys, clock: auth.clock, clockWatch: { isRight: () => true }, issuer: ISSUER }
    const ask = createGetRevocations({ db: SILENT_DATABASE, revocation, ...parts })
    assertUnavailable(await read({}, ask))
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
    const lock = await lockTokens()
    const slow = fresh()
    await untilBlocked(auth.db)
    now_ms += PAGE_LIFE_MS
    const late = [read(), read(), read()]
    await sleep(100)
    assert.equal(await countBlocked(auth.db), 1)
    await lock.rollback()
    const [first, ...others] = (await Promise.all([slow, ...late])).map(readTag)
    assert.equal(new Set(others).size, 1)
    assert.ok(first && others[0] && first !== others[0])
  })

  it('is shared by all requests that waited for it, however long it took', async () => {
    let statements = 0
    const passSecond = () => {
      now_ms += PAGE_LIFE_MS
    }
    const slow = await createHandler(around(db, () => statements++, passSecond))
    const tags = await Promise.all(Array.from({ length: 20 }, async () => readTag(await read({}, slow))))
    assert.deepEqual([statements, new Set(tags).size], [1, 1])
    await read({}, slow)
    assert.equal(statements, 2)
  })

  describe('at several processes', () => {
    /** What Redis holds while a process creates a page. */
    const CLAIM = /^\S+ \d+ \S+$/

    /** A process whose statements may fail or wait. `ticked` resolves once it has ticked since the call. */
    async function createProcess(queries?: Queries) {
      let ticks = 0
      const ask = await createHandler(queries, () => ticks++)
      const ticked = async (from = ticks) => eventually(() => ticks > from + 1)
      await ticked()
      return { get: () => read({}, ask), ticked, ticks: () => ticks }
    }
    type Process = Awaited<ReturnType<typeof createProcess>>
    let first: Process
    let second: Process
    beforeEach(async () => {
      await pass(PAGE_LIFE_MS)
      ;[first, second] = [await createProcess(), await createProcess()]
    })

    async function pass(duration_ms: number, processes = [first, second]): Promise<void> {
      now_ms += duration_ms
      await Promise.all(processes.filter(Boolean).map(({ ticked }) => ticked()))
    }
    const asAdmin = <T>(act: (redis: Redis) => Promise<T>) => runAsAdmin(auth.redis, act)
    const readPage = async () => (await asAdmin((redis) => redis.get(pageKey()))) ?? ''
    /** Waits until a process has begun to create a page. */
    const untilClaimed = () => eventually(async () => CLAIM.test(await readPage()))
    const pageKey = () => redisKeys.revocationPage(keys.signer()?.kid ?? '')
    const failing = around(null as never, () => Promise.reject(new Error('gone')))

    it('is created for all of them, by whichever is asked first', async () => {
      const tags = new Set<string | undefined>()
      for (const [one, other] of [
        [first, second],
        [second, first],
      ] as const) {
        const tag = readTag(await one.get())
        assert.equal(readTag(await other.get()), tag)
        await pass(PAGE_LIFE_MS - 1)
        assert.deepEqual([await one.get(), await other.get()].map(readTag), [tag, tag])
        tags.add(tag)
        await pass(1)
      }
      assert.equal(tags.size, 2)
    })

    it('is not believed by a process that began to count after it', async () => {
      const tag = readTag(await first.get())
      assert.notEqual(readTag(await (await createProcess()).get()), tag)
    })

    const RETURNS: Record<string, (act: () => Promise<void>) => Promise<void>> = {
      'an older page is put back': async (act) => {
        const page = await readPage()
        await act()
        await asAdmin((redis) => redis.set(pageKey(), page))
      },
      'an older page and count are put back': async (act) => {
        const [page, tick] = await asAdmin((redis) => redis.mget(pageKey(), redisKeys.revocationTick))
        await act()
        await asAdmin((redis) => redis.mset(pageKey(), page ?? '', redisKeys.revocationTick, tick ?? ''))
      },
      'Redis is flushed, and the older page put back': async (act) => {
        const page = await readPage()
        await act()
        await asAdmin((redis) => redis.flushall())
        await asAdmin((redis) => redis.set(pageKey(), page))
      },
      'Redis restarts from a dump with the older page': async (act) => {
        const file = await dump(auth.redis)
        await act()
        await restartFrom(auth.redis, file)
      },
      'the clock of Redis stands still, so that no page expires': async (act) => {
        await asAdmin((redis) => redis.persist(pageKey()))
        await act()
      },
    }
    for (const [what, happen] of Object.entries(RETURNS))
      it(`lists what was revoked before the last second when ${what}`, async () => {
        await first.get()
        await happen(async () => {
          await revokeToken(`revoked when ${what}`)
          await pass(PAGE_LIFE_MS)
        })
        await Promise.all([first.ticked(), second.ticked()])
        for (const { get } of [second, first])
          assert.ok(readClaims(await get()).tokens.includes(digest(`revoked when ${what}`)))
      })

    it('is not believed if Redis lies about its age', async () => {
      await first.get()
      const page = await readPage()
      await revokeToken('unknown to a liar')
      auth.clock.advance(APART_MAX_MS)
      await pass(PAGE_LIFE_MS)
      const claim = await asAdmin((redis) => redis.get(redisKeys.revocationTick))
      await pass(1)
      await asAdmin((redis) => redis.set(pageKey(), page.replace(/ \d+ /, ` ${claim} `)))
      const answer = await second.get().finally(() => auth.clock.advance(-APART_MAX_MS))
      assert.ok(readClaims(answer).tokens.includes(digest('unknown to a liar')))
    })

    it('is shared only by processes whose clocks agree, since each clock’s pages must be dated in order', async () => {
      const tag = readTag(await first.get())
      auth.clock.advance(APART_MAX_MS)
      const ahead = await second.get().finally(() => auth.clock.advance(-APART_MAX_MS))
      assert.notEqual(readTag(ahead), tag)
      await pass(1, [first, second, await createProcess()])
      assert.equal(readTag(await first.get()), tag)
    })

    for (const ahead_ms of [2_000, -2_000])
      it(`is dated in order at each process when another's clock is ${ahead_ms} ms ahead`, async () => {
        const pages = [await first.get()]
        await pass(PAGE_LIFE_MS)
        auth.clock.advance(ahead_ms)
        await second.get().finally(() => auth.clock.advance(-ahead_ms))
        pages.push(await first.get())
        await pass(PAGE_LIFE_MS)
        pages.push(await first.get())
        const dates = pages.map((page) => readClaims(page).iat)
        assert.deepEqual(dates, dates.toSorted())
      })

    it('is not kept if Redis was flushed while it was created', async () => {
      const lock = await lockTokens()
      const answer = first.get()
      await untilBlocked(auth.db)
      assert.match(await readPage(), CLAIM)
      await asAdmin((redis) => redis.flushall())
      await lock.rollback()
      assert.equal((await answer).status, 200)
      await second.ticked()
      assert.equal(await asAdmin((redis) => redis.exists(pageKey())), 0)
      assert.notEqual(readTag(await second.get()), readTag(await answer))
    })

    it('is created by another process if the first stops meanwhile, and replaces a later one of the first', async () => {
      const statement = Promise.withResolvers<void>()
      const late = (await createProcess(around(db, () => statement.promise))).get()
      await untilClaimed()
      const tag = readTag(await second.get())
      statement.resolve()
      assert.notEqual(readTag(await late), tag)
      await second.ticked()
      assert.equal(readTag(await first.get()), tag)
    })

    it('is created by one of those that waited if the first stops meanwhile', async () => {
      const stopped = await createProcess(around(db, () => new Promise(() => {})))
      const slow = around(db, () => sleep(200))
      const waiting = await Promise.all(Array.from({ length: 4 }, () => createProcess(slow)))
      using time = stoppedTime()
      void stopped.get()
      await untilClaimed()
      const answers = waiting.map(({ get }) => get())
      // Then each waits, and for none is the page there when its wait ends.
      await first.ticked()
      time.advance(501)
      assert.equal(new Set((await Promise.all(answers)).map(readTag)).size, 1)
    })

    it('is created by each after a second of waiting for others that are slow', async () => {
      let begun = 0
      const statement = Promise.withResolvers<void>()
      const slow = around(db, () => {
        begun += 1
        return statement.promise
      })
      const processes = await Promise.all(Array.from({ length: 8 }, () => createProcess(slow)))
      using time = stoppedTime()
      const answers = processes.map(({ get }) => get())
      await untilClaimed()
      const { ticks } = first
      const ticked = ticks()
      time.advance(1_001)
      await eventually(() => begun === 8)
      // After 250 ticks, which are five seconds, a claim would be no reason to wait.
      assert.ok(ticks() - ticked < 200)
      statement.resolve()
      for (const { status } of await Promise.all(answers)) assert.equal(status, 200)
    })

    it('is created by another process at once if the first cannot', async () => {
      const cut = await createProcess(failing)
      assertUnavailable(await cut.get())
      await eventually(async () => (await asAdmin((redis) => redis.get(pageKey()))) === '')
      assert.equal((await second.get()).status, 200)
    })

    it('reaches a process that cannot ask Postgres, until it is a second old', async () => {
      const cut = await createProcess(failing)
      const tag = readTag(await first.get())
      await pass(PAGE_LIFE_MS / 2, [first, second, cut])
      assert.equal(readTag(await cut.get()), tag)
      await pass(PAGE_LIFE_MS / 2, [first, second, cut])
      assertUnavailable(await cut.get())
    })

    it('is created by each while Redis is away', async () => {
      await auth.redis.stop('SIGKILL')
      await using _ = afterwards(async () => {
        await auth.redis.start()
        await pass(0)
      })
      const tags = [await first.get(), await second.get()].map(readTag)
      assert.ok(tags[0] && tags[1] && tags[0] !== tags[1])
    })
  })

  const lockTokens = () => lockTable(auth.db, 'revoked_tokens')
})

function assertUnavailable({ status, body, headers }: HttpAnswer): void {
  assert.equal(status, 503)
  assert.equal(JSON.parse(body.toString()).error, 'temporarily_unavailable')
  assert.equal(headers['Cache-Control'], 'no-store')
  assert.equal(headers['Retry-After'], '2')
}
