import { strict as assert } from 'node:assert'
import { Redis } from 'ioredis'
import { newClientId, newClientSecret } from '#shared/oauth/ids.ts'
import {
  type AuthResponse,
  basic,
  startAuth,
  type TestAuth,
  type TestClient,
  tokenFields,
} from '../support/auth.ts'

const INVALID_CLIENT = '{"error":"invalid_client","error_description":"client authentication failed"}'

/** Everything of an answer that a caller can compare, but for what differs between any two answers. */
function fingerprint({ status, headers, text }: AuthResponse) {
  const { date, 'x-request-id': requestId, ...rest } = Object.fromEntries(headers)
  assert.ok(date && requestId)
  return { status, headers: rest, text }
}

for (const path of ['/v1/oauth/token', '/v1/oauth/revoke']) {
  describe(`POST ${path}: client authentication`, () => {
    let auth: TestAuth
    let client: TestClient
    let revoked: TestClient
    let cachedThenRevoked: TestClient

    before(async () => {
      auth = await startAuth()
      client = await auth.createClient()
      revoked = await auth.createClient()
      await auth.markRevoked(revoked)
      cachedThenRevoked = await auth.createClient()
      assert.equal((await auth.token(cachedThenRevoked)).status, 200)
      await auth.markRevoked(cachedThenRevoked)
    })
    after(() => auth.stop())

    const attempt = (as: TestClient, changes: Record<string, string | undefined> = {}) =>
      auth.post(path, { ...tokenFields(as), token: 'x', ...changes })
    const attemptBasic = (as: TestClient, secret: string) =>
      auth.post(
        path,
        { ...tokenFields(as), token: 'x', client_id: undefined, client_secret: undefined },
        { authorization: basic(as.clientId, secret) },
      )

    const failures: Record<string, () => Promise<AuthResponse>> = {
      'an unknown client': () => attempt({ ...client, clientId: newClientId() }),
      'a client id that cannot exist': () => attempt({ ...client, clientId: 'nobody' }),
      'a client id with a NUL': () => attempt({ ...client, clientId: `${client.clientId.slice(0, -1)}\0` }),
      'a client id of 4,000 characters': () => attempt({ ...client, clientId: 'c'.repeat(4_000) }),
      'the name of a property of every object': () => attempt({ ...client, clientId: '__proto__' }),
      'SQL as client id': () => attempt({ ...client, clientId: `' or '1'='1` }),
      'a wrong secret': () => attempt(client, { client_secret: newClientSecret() }),
      'a secret with one character more': () => attempt(client, { client_secret: `${client.clientSecret}x` }),
      'another client’s secret': () => attempt(client, { client_secret: revoked.clientSecret }),
      'a missing secret': () => attempt(client, { client_secret: undefined }),
      'an empty secret': () => attempt(client, { client_secret: '' }),
      'a revoked client': () => attempt(revoked),
      'a revoked client with a wrong secret': () => attempt(revoked, { client_secret: 'x' }),
      'a client revoked since its record was read': () => attempt(cachedThenRevoked),
    }
    for (const [name, send] of Object.entries(failures)) {
      it(`answers ${name} with the same bytes`, async () => {
        const reference = fingerprint(await attempt(client, { client_secret: 'wrong' }))
        assert.equal(reference.status, 401)
        assert.equal(reference.text, INVALID_CLIENT)
        assert.match(reference.headers['www-authenticate'] ?? '', /^Basic realm="/)
        assert.deepEqual(fingerprint(await send()), reference)
      })
    }

    const basicFailures: Record<string, () => Promise<AuthResponse>> = {
      'an unknown client': () => attemptBasic({ ...client, clientId: newClientId() }, client.clientSecret),
      'an empty secret': () => attemptBasic(client, ''),
      'a revoked client': () => attemptBasic(revoked, revoked.clientSecret),
      'another scheme': () =>
        auth.post(
          path,
          { ...tokenFields(client), token: 'x', client_secret: undefined },
          { authorization: 'Bearer x' },
        ),
    }
    for (const [name, send] of Object.entries(basicFailures)) {
      it(`answers ${name} in the Authorization header with the same bytes`, async () => {
        const reference = fingerprint(await attemptBasic(client, 'wrong'))
        assert.equal(reference.status, 401)
        assert.equal(reference.text, INVALID_CLIENT)
        assert.match(reference.headers['www-authenticate'] ?? '', /^Basic realm="/)
        assert.deepEqual(fingerprint(await send()), reference)
      })
    }

    it('does the same work for an unknown client as for a wrong secret: one count', async () => {
      await attempt(client)
      const wrong = await commands(auth, () => failures['a wrong secret']?.())
      for (const unknown of ['an unknown client', 'a client id that cannot exist'])
        assert.deepEqual(await commands(auth, () => failures[unknown]?.()), wrong, unknown)
      assert.equal(wrong.length, 1)
    })
  })
}

/** The names of the commands and keys, without ids, that Redis is sent while `act` runs. */
async function commands(auth: TestAuth, act: () => Promise<unknown> | undefined): Promise<string[]> {
  const admin = new Redis(auth.redis.url('admin'))
  const monitor = await admin.monitor()
  const seen: string[] = []
  monitor.on('monitor', (_time: string, [name = '', ...rest]: string[], source: string) => {
    if (source === 'lua' || rest.some((word) => word.includes('tick'))) return
    seen.push(
      `${name} ${rest
        .join(' ')
        .replaceAll(/cli_\w+/g, 'CLIENT')
        .slice(-80)}`,
    )
  })
  await act()
  await admin.ping()
  await new Promise((resolve) => setTimeout(resolve, 50))
  monitor.disconnect()
  admin.disconnect()
  return seen.filter((line) => !line.startsWith('ping') && !line.includes('usage:')).sort()
}
