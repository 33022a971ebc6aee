import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { hashPassword, indexOfPassword, unusableHash } from '../../apps/api/accounts/passwords.ts'
import { resetPassword } from '../../apps/api/sessions/change-password.ts'
import { sharedApi, startApi, TEST_PASSWORD } from '../support/api.ts'
import { afterwards } from '../support/block.ts'
import { assertProblem, assertStatuses } from '../support/problem.ts'

describe('POST /v1/session', () => {
  const api = sharedApi()

  const signIn = (email: unknown, password: unknown = TEST_PASSWORD) =>
    api.request('POST', '/v1/session', { body: { email, password } })

  it('stores only the hash of the token', async () => {
    const { email } = await api.createPerson()
    const { sessionToken } = (await signIn(email)).json
    const { rows } = await api.db.raw('select s::text from sessions s')
    assert.ok(rows.length > 0)
    assert.equal(JSON.stringify(rows).includes(sessionToken.slice(4)), false)
  })

  it('takes the address in any case, with spaces around it', async () => {
    const { email } = await api.createPerson()
    assert.equal((await signIn(`  ${email.toUpperCase()} `)).status, 201)
  })

  it('does the same work for an unknown address as for a wrong password', async () => {
    const { email } = await api.createPerson()
    let hashes = 0
    const init = (_id: number, type: string) => void (type === 'ARGON2REQUEST' && hashes++)
    const counter = createHook({ init }).enable()
    await using _ = afterwards(() => counter.disable())
    await signIn(email, 'wrong')
    assert.equal(hashes, 1)
    await signIn('nobody-else@people.example', 'wrong')
    assert.equal(hashes, 2)
    for (const hash of [unusableHash(), await hashPassword('wrong')])
      assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  it('takes a password as another keyboard composes it', async () => {
    assert.equal(await indexOfPassword('Grün ﬁ', [await hashPassword('Gru\u0308n fi')]), 0)
  })

  it('does not begin a session when the password is reset at that moment', async () => {
    const { userId, email } = await api.createPerson()
    const passwordHash = await hashPassword('another password altogether')
    const answer = await api.db.transaction(async (transaction) => {
      await resetPassword(transaction, { userId, passwordHash })
      const signingIn = signIn(email)
      // Long enough for the old password to be found right and the session to wait for the reset.
      await new Promise((resolve) => setTimeout(resolve, 400))
      return [signingIn]
    })
    assertProblem(await (answer[0] as ReturnType<typeof signIn>), 'invalid_credentials')
    const { rows } = await api.db.raw('select from sessions where user_id = ?', [userId])
    assert.equal(rows.length, 0)
  })
})

describe('the limits of signing in', () => {
  it('limits an account however it is spelled, whether or not it exists, for the right password too', async () => {
    await using api = await startApi({ env: { RATE_SIGN_IN_PER_ACCOUNT: '2/60' } })
    const { email } = await api.createPerson()
    for (const address of [email, 'nobody@people.example']) {
      const answers = []
      for (const [spelling, password] of [
        [address, 'wrong'],
        [` ${address}`, 'wrong'],
        [address.toUpperCase(), TEST_PASSWORD],
      ] as const)
        answers.push(await api.request('POST', '/v1/session', { body: { email: spelling, password } }))
      assertStatuses(answers, 401, 401, 429)
      assertProblem(answers[2] as (typeof answers)[0], 'rate_limited')
      assert.match(answers[2]?.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
      assert.equal(answers[2]?.headers.get('ratelimit-policy'), '"sign-in-account";q=2;w=60')
    }
  })

  it('keeps one address from using up the attempts of an account', async () => {
    const limits = { RATE_SIGN_IN_PER_ADDRESS: '2/60', RATE_SIGN_IN_PER_ACCOUNT: '2/60' }
    await using api = await startApi({ env: { ...limits, TRUSTED_PROXIES: '127.0.0.1' } })
    const { email } = await api.createPerson()
    const attempt = (address: string, password: string) => {
      const headers = { 'x-forwarded-for': address }
      return api.request('POST', '/v1/session', { body: { email, password }, headers })
    }
    for (let times = 0; times < 6; times += 1) await attempt('192.0.2.66', 'wrong')
    assert.equal((await attempt('192.0.2.7', TEST_PASSWORD)).status, 201)
  })

  it('limits attempts without Redis too', async () => {
    await using api = await startApi({ env: { RATE_SIGN_IN_PER_ACCOUNT: '1/60' } })
    await api.redis.stop('SIGKILL')
    const body = { email: 'nobody@people.example', password: 'wrong' }
    assert.equal((await api.request('POST', '/v1/session', { body })).status, 401)
    assertProblem(await api.request('POST', '/v1/session', { body }), 'rate_limited')
  })
})
