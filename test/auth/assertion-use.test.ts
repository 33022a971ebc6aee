import { strict as assert } from 'node:assert'
import pg from 'pg'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import {
  assertionFields,
  createKeyClient,
  goodClaims,
  type KeyClient,
  newKeyPair,
  signAssertion,
  signJwt,
} from '../support/assertions.ts'
import { sharedAuth, startAuth, type TestAuth } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { refusalReasons } from '../support/log.ts'
import { assertStatuses } from '../support/problem.ts'
import { asAdmin, freeze, restartEmpty } from '../support/revocation.ts'
import { cutOffDatabase } from '../support/stores.ts'

const MINUTE_MS = 60_000

const GRANT = { grant_type: 'client_credentials', scope: 'analytics:read' }
const send = (auth: TestAuth, assertion: string) =>
  auth.post('/v1/oauth/token', { ...GRANT, ...assertionFields(assertion) })
const signByStranger = (auth: TestAuth, client: KeyClient, claims: Record<string, unknown> = {}) =>
  signAssertion({ ...client, keys: newKeyPair() }, auth.clock.now(), claims)
const asking = (auth: TestAuth) => async (client: KeyClient) =>
  (await send(auth, await signAssertion(client, auth.clock.now()))).status
const statuses = async (...sent: ReturnType<typeof send>[]) =>
  (await Promise.all(sent)).map(({ status }) => status).sort()

describe('an assertion that is sent again', () => {
  const auth = sharedAuth({ trusted: true })
  const second = sharedAuth({ beside: auth })
  const client = forBlock(() => createKeyClient(auth))

  const assertion = (claims: object = {}) => signAssertion(client, auth.clock.now(), { ...claims })

  it('refuses a jti that this process or another has accepted, also under a new signature', async () => {
    const { jti, ...claims } = goodClaims(client, auth.clock.now())
    assert.equal((await send(auth, await assertion({ ...claims, jti }))).status, 200)
    for (const server of [auth, second]) {
      server.logLines.length = 0
      assert.equal((await send(server, await assertion({ ...claims, jti }))).status, 401)
      assert.deepEqual(refusalReasons(server), ['assertion_replayed'])
    }
  })

  it('refuses at another process what was accepted with a fraction of a second in its exp', async () => {
    const once = await assertion({ exp: auth.clock.now() / 1_000 + 60.0001 })
    assert.equal((await send(auth, once)).status, 200)
    assert.equal((await send(second, once)).status, 401)
  })

  it('accepts one of many that arrive at once, at two processes', async () => {
    const once = await assertion()
    const sent = [send(auth, once), send(second, once), send(auth, once), send(second, once)]
    assert.deepEqual(await statuses(...sent), [200, 401, 401, 401])
  })

  it('accepts the jti that another client has used', async () => {
    const other = await createKeyClient(auth)
    const jti = newClientId()
    assert.equal((await send(auth, await assertion({ jti }))).status, 200)
    assert.equal((await send(second, await signAssertion(other, auth.clock.now(), { jti }))).status, 200)
  })

  it('uses up no jti by a refusal', async () => {
    const jti = newClientId()
    assert.equal((await send(auth, await assertion({ jti, aud: 'https://other.test' }))).status, 401)
    assert.equal((await send(auth, await signByStranger(auth, client, { jti }))).status, 401)
    assert.equal((await send(auth, await assertion({ jti }))).status, 200)
  })

  it('remembers a jti until no process can take its assertion any more, and its sender not at all', async () => {
    const jti = newClientId()
    const before = await used()
    await send(auth, await assertion({ jti }))
    const [key = ''] = (await used()).filter((each) => !before.includes(each))
    const left_ms = await asAdmin(auth.redis, (redis) => redis.pttl(key))
    // A minute, and clocks that are two minutes off either way.
    assert.ok(left_ms > 5 * MINUTE_MS && left_ms <= 6 * MINUTE_MS, `${left_ms} ms`)
    assert.match(key, /^assertion:[\w-]{43}$/)
    assert.ok(!key.includes(jti) && !key.includes(client.clientId))
  })

  it('refuses it by the same process after Redis has lost everything, and while Redis is away', async () => {
    const before = await assertion()
    assert.equal((await send(auth, before)).status, 200)
    await auth.redis.stop('SIGKILL')
    const meanwhile = await assertion()
    assert.equal((await send(auth, meanwhile)).status, 200, 'works without Redis')
    assert.deepEqual(await statuses(send(auth, before), send(auth, meanwhile)), [401, 401])
    const once = await assertion()
    assert.deepEqual(await statuses(send(auth, once), send(auth, once), send(auth, once)), [200, 401, 401])
    await restartEmpty(auth.redis)
    await backAgain()
    assert.deepEqual(await statuses(send(auth, before), send(auth, meanwhile)), [401, 401])
  })

  it('accepts once what was answered with 503 while both stores were away', async () => {
    const waiting = await Promise.all(Array.from({ length: 4 }, () => assertion()))
    await send(auth, await assertion())
    const restore = await cutOffDatabase(auth.database)
    // What it was sent meanwhile, it does once it goes on.
    const resume = await freeze(auth.redis)
    const answers = await Promise.all(waiting.map((each) => send(auth, each)))
    resume()
    await restore()
    assertStatuses(answers, 503, 503, 503, 503)
    await backAgain()
    for (const each of waiting) {
      const sent = [send(auth, each), send(auth, each), send(second, each)]
      assert.deepEqual(await statuses(...sent), [200, 401, 401])
    }
  })

  it('accepts once what the revocation endpoint answered with 429', async () => {
    const env = { RATE_TOKEN_REVOCATIONS_PER_COMPANY: '1/5' }
    await using limited = await startAuth({ beside: auth, env })
    const revoke = async (server: TestAuth, sent: string) => {
      const { json } = await send(auth, await assertion())
      return server.post('/v1/oauth/revoke', { token: json.access_token, ...assertionFields(sent) })
    }
    let over = ''
    // The second of a window is over the limit, but on a busy machine it may be the first of the next.
    await eventually(async () => {
      over = await assertion()
      return (await revoke(limited, over)).status === 429
    })
    await eventually(async () => (await revoke(limited, over)).status === 200)
    assert.equal((await send(second, over)).status, 401)
  })

  const used = () => asAdmin(auth.redis, (redis) => redis.keys('assertion:*'))

  /** Waits until both processes write to Redis again. */
  async function backAgain(): Promise<void> {
    for (const server of [auth, second]) {
      const isBack = async () => {
        const before = (await used()).length
        await send(server, await assertion())
        return (await used()).length > before
      }
      await eventually(isBack, { every_ms: 100 })
    }
  }
})

describe('the work of judging an assertion', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forBlock(() => createKeyClient(auth))
  let keyless: KeyClient
  const { query } = pg.Client.prototype
  const { verify } = crypto.subtle
  const work = { reads: 0, verifications: 0 }

  before(async () => {
    keyless = { ...(await auth.createClient()), keys: newKeyPair() }
    pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
      const text = (given[0] as { text?: string }).text ?? ''
      if (text.includes('secret_hash as')) work.reads += 1
      return query.apply(this, given as never)
    } as typeof query
    crypto.subtle.verify = (...given) => {
      work.verifications += 1
      return verify.apply(crypto.subtle, given)
    }
  })
  after(async () => {
    Object.assign(pg.Client.prototype, { query })
    Object.assign(crypto.subtle, { verify })
  })

  async function countWork(as: KeyClient, alg: 'ES256' | 'RS256', keys = newKeyPair(), typ = 'JWT') {
    const assertion = await signJwt(goodClaims(as, auth.clock.now()), keys.privateKey, { alg, typ })
    Object.assign(work, { reads: 0, verifications: 0 })
    assert.equal((await send(auth, assertion)).status, 401)
    return { ...work }
  }
  const ONCE = { reads: 1, verifications: 1 }

  it('verifies one signature and reads one record, whoever the client is', async () => {
    const rsa = newKeyPair('RSA')
    const unknown = () => ({ ...client, clientId: newClientId() })
    for (const met of [false, true]) {
      assert.deepEqual(await countWork(client, 'ES256'), ONCE, `another key, ${met}`)
      assert.deepEqual(await countWork(client, 'RS256', rsa), ONCE, `another algorithm, ${met}`)
      assert.deepEqual(await countWork(client, 'RS256', rsa, 'at+jwt'), ONCE, `another type, ${met}`)
      assert.deepEqual(await countWork(keyless, 'ES256'), ONCE, `a client with a secret, ${met}`)
      assert.deepEqual(await countWork(unknown(), 'ES256'), ONCE, `unknown, ${met}`)
      assert.deepEqual(await countWork(unknown(), 'RS256', rsa), ONCE, `unknown, another algorithm, ${met}`)
      await send(auth, await signAssertion(client, auth.clock.now()))
      await auth.token(keyless)
    }
  })

  it('counts failures by address, and refuses none that holds', async () => {
    await asAdmin(auth.redis, async (redis) => {
      for (const key of await redis.keys('rate:*')) await redis.del(key)
    })
    await using limited = await startAuth({ beside: auth, env: { RATE_TOKEN_FAILURES_PER_ADDRESS: '2/60' } })
    const answers = []
    for (const _ of [1, 2, 3]) answers.push(await send(limited, await signByStranger(auth, client)))
    assertStatuses(answers, 401, 401, 429)
    assert.equal((await send(limited, await signAssertion(client, auth.clock.now()))).status, 200)
  })

  for (const setting of ['RATE_TOKEN_PER_CLIENT', 'RATE_ASSERTIONS_PER_COMPANY'])
    it(`stores nothing of a request over ${setting}`, async () => {
      await using limited = await startAuth({ beside: auth, env: { [setting]: '2/60' } })
      const its = await createKeyClient(auth)
      const stored = () => asAdmin(auth.redis, async (redis) => (await redis.keys('assertion:*')).length)
      const before = await stored()
      const over = []
      for (const _ of [1, 2, 3, 4, 5]) {
        const assertion = await signAssertion(its, auth.clock.now())
        if ((await send(limited, assertion)).status === 429) over.push(assertion)
      }
      assert.equal(over.length, 3)
      // What Redis has already taken of the others lasts for another millisecond.
      await eventually(async () => (await stored()) - before === 2, { otherwise: () => 'more is stored' })
      // An HTTP library repeats what was answered with 429.
      assert.deepEqual(await statuses(...over.map((each) => send(auth, each))), [200, 200, 200])
      assert.deepEqual(await statuses(...over.map((each) => send(auth, each))), [401, 401, 401])
    })

  it('counts none for the company of a client that exceeds its own rate', async () => {
    const env = { RATE_TOKEN_PER_CLIENT: '1/60', RATE_ASSERTIONS_PER_COMPANY: '4/60' }
    await using limited = await startAuth({ beside: auth, env })
    const [{ vendorId }, ask] = [await createKeyClient(auth), asking(limited)]
    const [one, other] = [
      await createKeyClient(auth, { vendorId }),
      await createKeyClient(auth, { vendorId }),
    ]
    const answers = [await ask(one), await ask(one), await ask(one), await ask(one), await ask(one)]
    assert.ok(answers.filter((status) => status === 429).length >= 3, String(answers))
    assert.equal(await ask(other), 200)
  })

  it('counts none for the company while neither store can say whether the client is revoked', async () => {
    await using untrusted = await startAuth({ env: { RATE_ASSERTIONS_PER_COMPANY: '2/60' } })
    const [its, ask] = [await createKeyClient(untrusted), asking(untrusted)]
    assert.equal(await ask(its), 200)
    const restore = await cutOffDatabase(untrusted.database)
    const answers = [await ask(its), await ask(its)]
    await restore()
    assert.deepEqual([...answers, await ask(its)], [503, 503, 200])
  })

  it('needs no read for a client that it has met, while Postgres is away', async () => {
    assert.equal((await send(auth, await signAssertion(client, auth.clock.now()))).status, 200)
    const restore = await cutOffDatabase(auth.database)
    const known = await send(auth, await signAssertion(client, auth.clock.now()))
    const forged = await signByStranger(auth, client)
    const unknown = await signAssertion({ ...client, clientId: newClientId() }, auth.clock.now())
    const failed = await statuses(send(auth, forged), send(auth, unknown))
    await restore()
    assert.equal(known.status, 200)
    // 401 for one of them alone would say which ids are in use.
    assert.deepEqual(failed, [503, 503])
  })
})
