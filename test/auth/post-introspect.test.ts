import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { newClientSecret, newServiceId } from '#shared/oauth/new-ids.ts'
import { insertRevokedSigningKey } from '#shared/revocation/recent.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { createService, revokeService } from '../../infra/admin/services.ts'
import {
  type AuthResponse,
  basic,
  sharedAuth,
  startAuth,
  type TestClient,
  tokenFields,
} from '../support/auth.ts'
import { requestLines } from '../support/log.ts'
import { testOperator } from '../support/operator.ts'
import { asAdmin } from '../support/revocation.ts'
import { cutOffDatabase } from '../support/stores.ts'

const PATH = '/v1/oauth/introspect'

type Service = Awaited<ReturnType<typeof createService>>

describe(`POST ${PATH}`, () => {
  const auth = sharedAuth({ trusted: true })
  let service: Service
  let client: TestClient

  before(async () => {
    service = await createService(auth.db, { name: 'Boost', by: testOperator() })
    client = await auth.createClient({ scopes: ['boost:read', 'boost:write'] })
  })

  const tokenOf = async (owner: TestClient): Promise<string> => (await auth.token(owner)).json.access_token
  const fieldsOf = ({ serviceId, serviceSecret }: Service) => ({
    client_id: serviceId,
    client_secret: serviceSecret,
  })
  const ask = (token: string, as = service) => auth.post(PATH, { ...fieldsOf(as), token })

  function assertInactive(response: AuthResponse): void {
    assert.equal(response.status, 200, response.text)
    assert.equal(response.text, '{"active":false}')
    assert.equal(response.headers.get('cache-control'), 'no-store')
  }

  it('answers for a live token with its claims', async () => {
    const token = await tokenOf(client)
    const response = await ask(token)
    assert.equal(response.status, 200, response.text)
    const { iss, aud, sub, client_id, vendor_id, scope, iat, exp, jti, ...others } = decodeJwt(token)
    assert.deepEqual(others, {})
    const claims = { iss, aud, sub, client_id, vendor_id, scope, iat, exp, jti }
    assert.deepEqual(response.json, { active: true, ...claims, token_type: 'Bearer' })
    assert.deepEqual([scope, client_id], ['boost:read boost:write', client.clientId])
    assert.equal(response.headers.get('cache-control'), 'no-store')
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.equal(response.headers.get('ratelimit-policy'), '"introspections";q=30000;w=60')
  })

  it('takes HTTP Basic, and ignores token_type_hint', async () => {
    const header = { authorization: basic(service.serviceId, service.serviceSecret) }
    const response = await auth.post(
      PATH,
      { token: await tokenOf(client), token_type_hint: 'refresh_token' },
      header,
    )
    assert.equal(response.json.active, true)
  })

  it('answers inactive from the reply of a revocation on: of the token, and of its client', async () => {
    const [ended, kept] = [await tokenOf(client), await tokenOf(client)]
    const { client_id = '', client_secret = '' } = tokenFields(client)
    assert.equal(
      (await auth.post('/v1/oauth/revoke', { client_id, client_secret, token: ended })).status,
      200,
    )
    assertInactive(await ask(ended))
    assert.equal((await ask(kept)).json.active, true)
    const other = await auth.createClient()
    const theirs = await tokenOf(other)
    await auth.revoke(other)
    assertInactive(await ask(theirs))
  })

  it('answers inactive for a token whose key is revoked', async () => {
    const beside = await startAuth({ beside: auth })
    const token = await tokenOf(client)
    const { kid = '' } = decodeProtectedHeader(token)
    await asAdmin(auth.redis, (redis) => redis.set(redisKeys.revoked('key', kid), '1'))
    assertInactive(await beside.post(PATH, { ...fieldsOf(service), token }))
    await asAdmin(auth.redis, (redis) => redis.del(redisKeys.revoked('key', kid)))
    await beside.stop()
  })

  it('answers inactive for a token from the second on in which it expires', async () => {
    const token = await tokenOf(client)
    const left_ms = (decodeJwt(token).exp as number) * 1_000 - auth.clock.now()
    auth.clock.advance(left_ms - 1)
    try {
      assert.equal((await ask(token)).json.active, true)
      auth.clock.advance(1)
      assertInactive(await ask(token))
    } finally {
      auth.clock.advance(-left_ms)
    }
  })

  it('answers inactive for what this server has not issued as an access token', async () => {
    const token = await tokenOf(client)
    const [header = '', payload = '', signature = ''] = token.split('.')
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const { kid } = decodeProtectedHeader(token)
    const elsewhere = await startAuth()
    const foreign = (await elsewhere.token(await elsewhere.createClient())).json.access_token
    await elsewhere.stop()
    const none = `${encode({ alg: 'none', typ: 'at+jwt', kid })}.${payload}.`
    const page = await auth.request('GET', '/v1/oauth/revocations')
    assert.equal(page.status, 200)
    for (const other of [
      ...['nonsense', '..', 'a.b.c', '\0', service.serviceSecret, foreign, none, page.text],
      `${header}.${encode({ ...decodeJwt(token), scope: 'catalog:write' })}.${signature}`,
      `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${payload}.${signature}`,
      `${encode({ alg: 'ES256', typ: 'at+jwt', kid, crit: ['x'], x: 1 })}.${payload}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
    ])
      assertInactive(await ask(other))
  })

  it('answers inactive at once for a token whose key is unknown, without a look at the table', async () => {
    const { kid: _, ...header } = decodeProtectedHeader(await tokenOf(client))
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
    const inTheWay = await auth.db.transaction()
    await inTheWay.raw('lock table signing_keys in access exclusive mode')
    try {
      const answers = [1, 2, 3, 4, 5].map((i) => ask(`${encode({ ...header, kid: `k${i}` })}.e30.AA`))
      const first = await Promise.race([Promise.all(answers), sleep(2_000, [])])
      assert.equal(first.length, answers.length, 'it waits')
      first.forEach(assertInactive)
    } finally {
      await inTheWay.rollback()
    }
  })

  describe('401 invalid_client', () => {
    let reference: AuthResponse
    before(async () => {
      reference = await auth.token({ ...client, clientSecret: 'wrong' })
    })

    const attempts: Record<string, () => Record<string, string | undefined>> = {
      'a client of a company': () => tokenFields(client),
      'a wrong secret': () => ({ ...fieldsOf(service), client_secret: newClientSecret() }),
      'no secret': () => ({ ...fieldsOf(service), client_secret: undefined }),
      'an empty secret': () => ({ ...fieldsOf(service), client_secret: '' }),
      'an unknown service': () => ({ ...fieldsOf(service), client_id: newServiceId() }),

      'a service id with a NUL': () => ({
        ...fieldsOf(service),
        client_id: `${service.serviceId.slice(0, -1)}\0`,
      }),
      'the secret of a service with the id of a client': () => ({
        ...fieldsOf(service),
        client_id: client.clientId,
      }),
      'an id that cannot exist': () => ({ ...fieldsOf(service), client_id: `svc_' or '1'='1` }),
      'no authentication': () => ({ client_id: undefined }),
    }
    for (const [name, fields] of Object.entries(attempts))
      it(`answers ${name} with the bytes of any failure`, async () => {
        const response = await auth.post(PATH, { ...fields(), token: await tokenOf(client) })
        assert.equal(response.status, 401)
        assert.equal(response.text, reference.text)
        const challenge = response.headers.get('www-authenticate')
        assert.equal(challenge, reference.headers.get('www-authenticate'))
      })

    it('answers a service from its revocation on', async () => {
      const revoked = await createService(auth.db, { name: 'Old', by: testOperator() })
      const token = await tokenOf(client)
      assert.equal((await ask(token, revoked)).json.active, true)
      await revokeService(auth.db, { serviceId: revoked.serviceId, by: testOperator() })
      const response = await ask(token, revoked)
      assert.equal(response.status, 401)
      assert.equal(response.text, reference.text)
    })

    it('answers a service at the endpoints for clients as any unknown client', async () => {
      const { client_id, client_secret } = fieldsOf(service)
      const token = await tokenOf(client)
      const issue = { ...tokenFields(client), client_id, client_secret }
      for (const response of [
        await auth.post('/v1/oauth/token', issue),
        await auth.post('/v1/oauth/revoke', { client_id, client_secret, token }),
      ]) {
        assert.equal(response.status, 401)
        assert.equal(response.text, reference.text)
      }
      assert.equal((await ask(token)).json.active, true)
    })
  })

  it('logs a refused service by its id, and never a secret or a token', async () => {
    const token = await tokenOf(client)
    auth.logLines.length = 0
    await ask(token)
    await auth.post(PATH, { ...fieldsOf(service), client_secret: `${service.serviceSecret}x`, token })
    await auth.post(PATH, { client_id: service.serviceSecret, client_secret: service.serviceSecret, token })
    const [wrong, unknown] = requestLines(auth)
    assert.deepEqual([wrong.clientId, wrong.reason], [service.serviceId, 'wrong_secret'])
    assert.deepEqual([unknown.clientId, unknown.reason], [undefined, 'unknown_client'])
    const log = auth.logLines.join('')
    // As much of the secret as no random id has by chance.
    for (const part of [service.serviceSecret.slice(0, 12), ...token.split('.')])
      assert.ok(!log.includes(part))
  })

  it('is 503 while the clock of this process is wrong, which would take expired tokens for live', async () => {
    const ahead = async () => Date.now() + 3_600_000
    const wrong = await startAuth({ beside: auth, stores: { postgres: ahead, redis: ahead } })
    const token = await tokenOf(client)
    const { status } = await wrong.post(PATH, { ...fieldsOf(service), token }).finally(() => wrong.stop())
    assert.equal(status, 503)
  })
})

describe(`POST ${PATH} without a store`, () => {
  const auth = sharedAuth()
  let service: Service
  let token: string
  before(async () => {
    service = await createService(auth.db, { name: 'Boost', by: testOperator() })
    token = (await auth.token(await auth.createClient())).json.access_token
  })
  const ask = () =>
    auth.post(PATH, { client_id: service.serviceId, client_secret: service.serviceSecret, token })

  it('is decided by Postgres alone while Redis is away', async () => {
    await auth.redis.stop('SIGKILL')
    assert.equal((await ask()).json.active, true)
    const { jti } = decodeJwt(token)
    await auth.db.raw('insert into revoked_tokens (jti, expires_at) values (?, now())', [jti as string])
    assert.equal((await ask()).text, '{"active":false}')
    await auth.db.raw('delete from revoked_tokens')
    await insertRevokedSigningKey(auth.db, decodeProtectedHeader(token).kid as string)
    assert.equal((await ask()).text, '{"active":false}')
    await auth.db.raw('delete from revoked_signing_keys')
  })

  it('is 503 while the service can be read, but not whether the token was revoked', async () => {
    const transaction = await auth.db.transaction()
    await transaction.raw('lock table revoked_tokens in access exclusive mode')
    const { status } = await ask().finally(() => transaction.rollback())
    assert.equal(status, 503)
  })

  // No reconciler runs here: it would raise a fence of its own for a database that is elsewhere.
  for (const [why, sql, undo] of [
    [
      'a fence stands',
      `insert into restore_fences (reason) values ('x')`,
      'update restore_fences set lowered_at = now()',
    ],
    [
      'the database is elsewhere',
      `update revocation_trust set place = 'x'`,
      'update revocation_trust set place = database_place()',
    ],
  ] as const)
    it(`is 503 while ${why}: it may have forgotten that the service is revoked`, async () => {
      await auth.db.raw(sql)
      const { status, headers } = await ask().finally(() => auth.db.raw(undo))
      assert.equal(status, 503)
      assert.ok(headers.get('retry-after'))
    })

  it('is 503 while neither can decide, whatever the secret', async () => {
    const restore = await cutOffDatabase(auth.database)
    const right = await ask()
    service = { ...service, serviceSecret: 'wrong' }
    const wrong = await ask().finally(restore)
    for (const { status, json, headers } of [right, wrong]) {
      assert.equal(status, 503)
      assert.equal(json.error, 'temporarily_unavailable')
      assert.ok(Number(headers.get('retry-after')) >= 1)
      assert.equal(headers.get('cache-control'), 'no-store')
    }
  })
})
