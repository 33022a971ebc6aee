import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { encode, newKeyPair, signJwt } from '../support/assertions.ts'
import { type AuthResponse, sharedAuth, startAuth } from '../support/auth.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { asAdmin } from '../support/revocation.ts'
import { allButOne, FENCES, lockTable } from '../support/stores.ts'

const PATH = '/v1/oauth/introspect'

describe(`POST ${PATH}`, () => {
  const auth = sharedAuth({ trusted: true })
  const service = forBlock(() => auth.createService())
  const client = forBlock(() => auth.createClient({ scopes: ['boost:read', 'boost:write'] }))

  const requestToken = async (owner = client): Promise<string> => (await auth.token(owner)).json.access_token
  const ask = (token: string, as = service) => auth.introspect(as, token)

  function assertInactive(response: AuthResponse): void {
    assert.equal(response.status, 200, response.text)
    assert.equal(response.text, '{"active":false}')
    assert.equal(response.headers.get('cache-control'), 'no-store')
  }

  it('answers inactive from the reply of a revocation on: of the token, and of its client', async () => {
    const [ended, kept] = [await requestToken(), await requestToken()]
    assert.equal((await auth.revokeToken(client, ended)).status, 200)
    assertInactive(await ask(ended))
    assert.equal((await ask(kept)).json.active, true)
    const other = await auth.createClient()
    const theirs = await requestToken(other)
    await auth.revoke(other)
    assertInactive(await ask(theirs))
  })

  it('answers inactive for a token whose key is revoked', async () => {
    await using beside = await startAuth({ beside: auth })
    const token = await requestToken()
    const { kid = '' } = decodeProtectedHeader(token)
    await asAdmin(auth.redis, (redis) => redis.set(redisKeys.revoked('key', kid), '1'))
    assertInactive(await beside.introspect(service, token))
    await asAdmin(auth.redis, (redis) => redis.del(redisKeys.revoked('key', kid)))
  })

  it('answers inactive for a token from the second on in which it expires', async () => {
    const token = await requestToken()
    const left_ms = (decodeJwt(token).exp as number) * 1_000 - auth.clock.now()
    auth.clock.advance(left_ms - 1)
    await using _ = afterwards(() => auth.clock.advance(-left_ms))
    assert.equal((await ask(token)).json.active, true)
    auth.clock.advance(1)
    assertInactive(await ask(token))
  })

  it('answers inactive for what this server has not issued as an access token', async () => {
    const token = await requestToken()
    const [header = '', payload = '', signature = ''] = token.split('.')
    const [{ kid }, claims] = [decodeProtectedHeader(token), decodeJwt(token)]
    await using elsewhere = await startAuth()
    const foreign = (await elsewhere.token(await elsewhere.createClient())).json.access_token
    const renamed = ['ISSUER', 'API_RESOURCE'].map(async (name) => {
      await using beside = await startAuth({ beside: auth, env: { [name]: 'https://before.test' } })
      return (await beside.token(client)).json.access_token
    })
    const none = `${encode({ alg: 'none', typ: 'at+jwt', kid })}.${payload}.`
    const page = await auth.request('GET', '/v1/oauth/revocations')
    assert.equal(page.status, 200)
    for (const other of [
      ...[
        'nonsense',
        '..',
        'a.b.c',
        '\0',
        service.client_secret,
        foreign,
        none,
        page.text,
        ...(await Promise.all(renamed)),
      ],
      `${header}.${encode({ ...claims, scope: 'catalog:write' })}.${signature}`,
      `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${payload}.${signature}`,
      `${encode({ alg: 'ES256', typ: 'at+jwt', kid, crit: ['x'], x: 1 })}.${payload}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      await signJwt(claims, newKeyPair().privateKey, { alg: 'ES256', typ: 'at+jwt', kid }),
    ])
      assertInactive(await ask(other))
  })

  it('answers inactive for a second spelling of a good token', async () => {
    const token = await requestToken()
    assert.equal((await ask(token)).json.active, true)
    // The last character of 86 has four spare bits.
    const last = String.fromCharCode(token.charCodeAt(token.length - 1) + 1)
    const [header, ...rest] = token.split('.')
    const spellings = ['\n', '=', '==', ' ', '%'].map((end) => token + end)
    spellings.push(` ${token}`, token.slice(0, -1) + last, [`${header}=`, ...rest].join('.'))
    for (const other of spellings) assertInactive(await ask(other))
  })

  it('answers inactive at once for a token whose key is unknown, without a look at the table', async () => {
    const header = decodeProtectedHeader(await requestToken())
    const inTheWay = await lockTable(auth.db, 'signing_keys')
    await using _rolledBack = afterwards(() => inTheWay.rollback())
    const answers = [1, 2, 3, 4, 5].map((i) => ask(`${encode({ ...header, kid: `k${i}` })}.e30.AA`))
    const first = await Promise.race([Promise.all(answers), sleep(2_000, [])])
    assert.equal(first.length, answers.length, 'it waits')
    first.forEach(assertInactive)
  })
})

describe(`POST ${PATH} without a store`, () => {
  const auth = sharedAuth({ timeouts: allButOne('askPostgres_ms') })
  const service = forBlock(() => auth.createService())
  let token: string
  before(async () => {
    token = (await auth.token(await auth.createClient())).json.access_token
  })

  it('is 503 while the service can be read, but not whether the token was revoked', async () => {
    const lock = await lockTable(auth.db, 'revoked_tokens')
    const { status } = await auth.introspect(service, token).finally(() => lock.rollback())
    assert.equal(status, 503)
  })

  // No reconciler runs here: it would raise a fence of its own for a database that is elsewhere.
  for (const [why, begin, end] of FENCES)
    it(`is 503 while ${why}: it may have forgotten that the service is revoked`, async () => {
      await auth.db.raw(begin)
      // Of what is no token, nothing but the service is looked up.
      const { status, headers } = await auth.introspect(service, 'no token').finally(() => auth.db.raw(end))
      assert.equal(status, 503)
      assert.ok(headers.get('retry-after'))
    })
})
