import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPasswordQueue } from '../../apps/api/sessions/password-queue.ts'
import { replacePassword } from '../../infra/admin/passwords.ts'
import { type ApiResponse, freshApi, sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { loggedEvents } from '../support/log.ts'
import { testOperator } from '../support/operator.ts'
import { assertProblem } from '../support/problem.ts'

const from = (address: string) => ({ 'x-forwarded-for': address })

describe('the limit of attempts on one account', () => {
  const api = freshApi({ env: { RATE_SIGN_IN_STRANGERS_PER_ACCOUNT: '3/60', TRUSTED_PROXIES: '127.0.0.1' } })

  const signIn = async (email: string, password: string, address: string) =>
    (await api.request('POST', '/v1/session', { body: { email, password }, headers: from(address) })).status

  it('limits attempts on an account from all addresses together, whether or not it exists', async () => {
    const { email } = await api.createPerson()
    for (const account of [email, 'nobody@people.example']) {
      for (const [host, status] of [401, 401, 401, 429, 429].entries())
        assert.equal(await signIn(account, 'wrong', `192.0.2.${host}`), status)
      assert.equal(await signIn(account, TEST_PASSWORD, '192.0.2.9'), 429)
    }
  })

  it('counts new passwords for one account as guesses at the others of its address', async () => {
    const { email, sessionToken: token } = await api.createPerson()
    await api.createPerson({ email })
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
    // Strangers keep no one who is signed in from choosing another.
    for (const host of [2, 3, 4]) assert.equal(await signIn(email, 'wrong', `192.0.2.${host}`), 401)
    const change = async (currentPassword: string, newPassword: string) => {
      const request = { token, body: { currentPassword, newPassword }, headers: from('192.0.2.1') }
      return (await api.request('PUT', '/v1/session/password', request)).status
    }
    const [first, second] = ['wrong donkey capacitor nail', 'wrong donkey capacitor screw']
    assert.equal(await change(TEST_PASSWORD, first), 204)
    for (const status of [422, 422, 429]) assert.equal(await change(first, TEST_PASSWORD), status)
    assert.equal(await change(first, second), 429)
  })

  it('does not lock out an address that the owner recently signed in from', async () => {
    const { email } = await api.createPerson()
    assert.equal(await signIn(email, TEST_PASSWORD, '2001:db8::1'), 201)
    for (const host of [1, 2, 3, 4]) await signIn(email, 'wrong', `192.0.2.${host}`)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.5'), 429)
    assert.equal(await signIn(email.toUpperCase(), TEST_PASSWORD, '2001:db8::ffff'), 201)
  })

  it('remembers the twenty latest addresses and browsers of a user, an address for 30 days', async () => {
    const { email, userId } = await api.createPerson()
    for (let host = 1; host <= 3; host += 1) await signIn(email, TEST_PASSWORD, `192.0.2.${host}`)
    const other = await api.createPerson()
    await api.db.raw(
      `insert into sign_in_addresses select user_id, 'old ' || n, now() - days * interval '1 day'
       from generate_series(1, 20) n, (values (?, 1), (?, 0)) as people (user_id, days)`,
      [userId, other.userId],
    )
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
    const { rows } = await api.db.raw('select address from sign_in_addresses where user_id = ?', [userId])
    assert.equal(rows.length, 20)
    // Only failures count; from now on no stranger may try any more.
    for (let host = 1; host <= 3; host += 1) await signIn(email, 'wrong', `198.51.100.${host}`)
    assert.equal(await signIn(email, TEST_PASSWORD, '198.51.100.9'), 429)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
    api.clock.advance(31 * 24 * 3_600_000)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 429)
  })

  it('is not used up by an address known to the account', async () => {
    const { email } = await api.createPerson()
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
    for (let times = 0; times < 4; times += 1) await signIn(email, 'wrong', '192.0.2.1')
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.2'), 201)
  })

  it('counts the 30 days of an address from the last sign-in', async () => {
    const { email } = await api.createPerson()
    for (let times = 0; times < 2; times += 1) {
      assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
      api.clock.advance(20 * 24 * 3_600_000)
    }
    for (const host of [1, 2, 3]) await signIn(email, 'wrong', `198.51.100.${host}`)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
  })

  it('keeps the known addresses of people apart', async () => {
    const { email } = await api.createPerson()
    const other = await api.createPerson()
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
    assert.equal(await signIn(other.email, TEST_PASSWORD, '192.0.2.2'), 201)
    for (const host of [1, 2, 3]) await signIn(email, 'wrong', `198.51.100.${host}`)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.2'), 429)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.1'), 201)
  })

  it('keeps failures of any number of addresses in 262,144 counters, whether or not there are such accounts', async () => {
    const { email } = await api.createPerson()
    for (const account of [email, 'nobody@people.example']) await signIn(account, 'wrong', '192.0.2.1')
    const keys = await (await api.redis.connect('admin')).keys('rate:sign-in-strangers:*')
    assert.equal(keys.length, 2)
    // 64 characters at three places.
    for (const key of keys) assert.match(key, /^rate:sign-in-strangers:\{[A-Za-z0-9_-]{3}\}$/)
  })

  it('does not keep out someone whose password an operator has just set, wherever they are', async () => {
    const { email } = await api.createPerson()
    for (const host of [1, 2, 3]) await signIn(email, 'wrong', `192.0.2.${host}`)
    const reset = () =>
      replacePassword(api.db, { email, password: async () => TEST_PASSWORD, by: testOperator() })
    await reset()
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.4'), 201)
    assert.equal(await signIn(email, TEST_PASSWORD, '192.0.2.5'), 429)
    await reset()
    assert.equal(await signIn(email, 'wrong', '192.0.2.4'), 401)
    api.clock.advance(25 * 3_600_000)
    for (const host of [4, 5]) assert.equal(await signIn(email, TEST_PASSWORD, `192.0.2.${host}`), 429)
  })

  it('logs a failed attempt under a name that does not reveal the account', async () => {
    const { email } = await api.createPerson()
    for (const account of [email, email.toUpperCase(), 'nobody@people.example'])
      await signIn(account, 'wrong', '192.0.2.1')
    const lines = loggedEvents(api, 'sign_in.failed')
    assert.equal(lines[0].clientAddress, '192.0.2.1')
    const [first, again, other] = lines.map(({ account }) => account)
    assert.match(first, /^[\w-]{16}$/)
    assert.equal(again, first)
    assert.notEqual(other, first)
    assert.equal(api.logLines.join('').includes(email), false)
  })
})

describe('the limits of an IPv6 network', () => {
  const api = sharedApi({ env: { RATE_SIGN_IN_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1' } })

  it('limits an IPv6 /64, twice as much its /56 and four times its /48', async () => {
    const attempts = async (prefix: string, ...subnets: number[]) => {
      for (const [at, subnet] of subnets.entries()) {
        const body = { email: `${crypto.randomUUID()}@people.example`, password: 'wrong' }
        const headers = from(`${prefix}:${subnet}::1`)
        const { status } = await api.request('POST', '/v1/session', { body, headers })
        assert.equal(status, at < 4 ? 401 : 429)
      }
    }
    await attempts('2001:db8:0', 1, 2, 3, 4, 5)
    await attempts('2001:db8:0', 1_000, 2_000, 3_000, 4_000, 5_000)
    // One /56, each a /60 of its own.
    await attempts('2001:db8:2', 10, 20, 30, 40, 50)
    await attempts('2001:db8:1', 1)
  })
})

describe('the places to have a password checked', () => {
  it('keeps a place for an address known to the account, however many strangers wait', async () => {
    const limits = { RATE_SIGN_IN_PER_ACCOUNT: '100000/60', RATE_SIGN_IN_PER_ADDRESS: '100000/60' }
    await using api = await startApi({ env: { ...limits, TRUSTED_PROXIES: '127.0.0.1' } })
    const { email } = await api.createPerson()
    const body = { email, password: TEST_PASSWORD }
    const signIn = () => api.request('POST', '/v1/session', { body, headers: from('192.0.2.1') })
    assert.equal((await signIn()).status, 201)
    const answers: ApiResponse[] = []
    const sentAway = () => answers.filter(({ status }) => status === 503)
    let over = false
    // Each stranger soon comes back, so that their line stays full.
    const flood = Array.from({ length: 80 }, async (_, index) => {
      for (; !over; await sleep(50)) {
        const body = { email: `${index}@flood.example`, password: 'x' }
        answers.push(await api.request('POST', '/v1/session', { body, headers: from(`198.51.100.${index}`) }))
      }
    })
    try {
      await eventually(() => sentAway().length > 0)
      for (let times = 0; times < 3; times += 1) assert.equal((await signIn()).status, 201)
    } finally {
      over = true
      await Promise.all(flood)
    }
    assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [401, 503])
    for (const refused of sentAway()) {
      assertProblem(refused, 'unavailable')
      assert.equal(refused.headers.get('retry-after'), '2')
    }
  })

  it('never gives a stranger a place for known addresses, while each of the strangers’ is taken', async () => {
    const { runQueued } = createPasswordQueue()
    const { promise: held, resolve: end } = Promise.withResolvers<void>()
    const stranger = (host: number) => runQueued({ address: `198.51.100.${host}`, known: false }, () => held)
    const inside = [1, 2].map(stranger)
    const waiting = Array.from({ length: 64 }, (_, index) => stranger(index + 3))
    await using _ = afterwards(async () => {
      end()
      await Promise.all([...inside, ...waiting])
    })
    await assert.rejects(stranger(100), { code: 'unavailable' })
    assert.equal(await runQueued({ address: '192.0.2.1', known: true }, async () => 'checked'), 'checked')
  })
})

describe('the limits of sessions', () => {
  it('limits session guesses from one address, and still accepts its valid token', async () => {
    const env = { RATE_SESSION_GUESSES_PER_ADDRESS: '2/60', TRUSTED_PROXIES: '127.0.0.1' }
    await using api = await startApi({ env })
    const { sessionToken } = await api.createPerson()
    const read = (token: string, address = '192.0.2.1') =>
      api.request('GET', '/v1/session', { token, headers: from(address) })
    const guess = `ses_${'a'.repeat(43)}`
    for (const token of [guess, 'x']) assert.equal((await read(token)).status, 401)
    const over = await read(guess)
    assertProblem(over, 'rate_limited')
    assert.equal(over.headers.get('ratelimit-policy'), '"session-guesses";q=2;w=60')
    assert.equal((await read(sessionToken)).status, 200)
    assert.equal((await read(guess, '192.0.2.2')).status, 401)
    for (const [host, status] of [401, 401, 429].entries())
      assert.equal((await read(guess, `2001:db8::${host}`)).status, status)
  })

  it('counts a search of the logs of requests as 25 more', async () => {
    await using api = await startApi({ env: { RATE_API_PER_SESSION: '51/60' } })
    const owner = await api.createOwner()
    const explain = () => owner.request('GET', 'refusals/unknown')
    assert.match((await explain()).headers.get('ratelimit') ?? '', /;r=25;/)
    assertProblem(await explain(), 'rate_limited')
  })
})
