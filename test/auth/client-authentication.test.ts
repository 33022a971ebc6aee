import { strict as assert } from 'node:assert'
import pg from 'pg'
import { newClientId, newClientSecret, newServiceId } from '../../apps/api/accounts/new-ids.ts'
import { revokeService } from '../../infra/admin/services.ts'
import {
  type AuthResponse,
  basic,
  fingerprint,
  sharedAuth,
  type TestAuth,
  type TestClient,
  tokenFields,
} from '../support/auth.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { ISSUER } from '../support/issuer.ts'
import { testOperator } from '../support/operator.ts'

const INVALID_CLIENT = JSON.stringify({
  error: 'invalid_client',
  error_description: 'client authentication failed',
  error_uri: `${ISSUER}/docs/errors#oauth-invalid_client`,
})

for (const path of ['/v1/oauth/token', '/v1/oauth/revoke', '/v1/oauth/introspect'])
  describe(`POST ${path}: client authentication`, () => {
    const auth = sharedAuth()
    const client = forBlock(create)
    const revoked = forBlock(create)
    let metThenRevoked: TestClient

    const ofServices = path.endsWith('introspect')
    const newId = ofServices ? newServiceId : newClientId
    async function create(): Promise<TestClient> {
      const one = await auth.createClient()
      if (!ofServices) return one
      const { client_id: clientId, client_secret: clientSecret } = await auth.createService()
      return { ...one, clientId, clientSecret }
    }
    const revoke = (one: TestClient) =>
      ofServices
        ? revokeService(auth.db, { serviceId: one.clientId, by: testOperator() })
        : auth.markRevoked(one)

    before(async () => {
      await revoke(revoked)
      metThenRevoked = await create()
      assert.equal((await attempt(metThenRevoked)).status, 200)
      await revoke(metThenRevoked)
    })

    const attempt = (as: TestClient, changes: Record<string, string | undefined> = {}) =>
      auth.post(path, { ...tokenFields(as), token: 'x', ...changes })
    const attemptBasic = (as: TestClient, secret: string) =>
      auth.post(
        path,
        { ...tokenFields(as), token: 'x', client_id: undefined, client_secret: undefined },
        { authorization: basic(as.clientId, secret) },
      )

    const failures: Record<string, () => Promise<AuthResponse>> = {
      'an unknown client': () => attempt({ ...client, clientId: newId() }),
      'a client id that cannot exist': () => attempt({ ...client, clientId: 'nobody' }),
      'a client id with a NUL': () => attempt({ ...client, clientId: `${client.clientId.slice(0, -1)}\0` }),
      'the name of a property of every object': () => attempt({ ...client, clientId: '__proto__' }),
      'a wrong secret': () => attempt(client, { client_secret: newClientSecret() }),
      'a secret with one character more': () => attempt(client, { client_secret: `${client.clientSecret}x` }),
      'another client’s secret': () => attempt(client, { client_secret: revoked.clientSecret }),
      'a missing secret': () => attempt(client, { client_secret: undefined }),
      'an empty secret': () => attempt(client, { client_secret: '' }),
      'no client authentication': () => attempt(client, { client_id: undefined, client_secret: undefined }),
      'no field at all': () => auth.post(path, {}),
      'a revoked client': () => attempt(revoked),
      'a client revoked since its record was read': () => attempt(metThenRevoked),
    }
    const basicFailures: Record<string, () => Promise<AuthResponse>> = {
      'an unknown client': () => attemptBasic({ ...client, clientId: newClientId() }, client.clientSecret),
      'an empty secret': () => attemptBasic(client, ''),
      'a revoked client': () => attemptBasic(revoked, revoked.clientSecret),
      'another scheme without a client id': () => auth.post(path, {}, { authorization: 'Bearer x' }),
    }
    async function assertSame(failure: AuthResponse, wrongSecret: AuthResponse): Promise<void> {
      const reference = fingerprint(wrongSecret)
      assert.equal(reference.status, 401)
      assert.equal(reference.text, INVALID_CLIENT)
      assert.match(reference.headers['www-authenticate'] ?? '', /^Basic realm="/)
      assert.deepEqual(fingerprint(failure), reference)
    }
    for (const [name, send] of Object.entries(failures))
      it(`answers ${name} with the same bytes`, async () =>
        assertSame(await send(), await attempt(client, { client_secret: 'wrong' })))
    for (const [name, send] of Object.entries(basicFailures))
      it(`answers ${name} in the Authorization header with the same bytes`, async () =>
        assertSame(await send(), await attemptBasic(client, 'wrong')))

    it('answers a client that waits for the challenge, and does not count its first request', async () => {
      const bare = { ...tokenFields(client), token: 'x', client_id: undefined, client_secret: undefined }
      const nothing = { incrby: 0, pttl: 0, mget: 0, reads: 0 }
      assert.deepEqual(await commands(auth, () => auth.post(path, bare)), nothing)
      const [scheme] = (await auth.post(path, bare)).headers.get('www-authenticate')?.split(' ') ?? []
      assert.equal(scheme, 'Basic')
      assert.equal((await attemptBasic(client, client.clientSecret)).status, 200)
    })

    it('does the same work for every other failure as for a wrong secret: one count, and one read', async () => {
      for (const known of [client, metThenRevoked]) await attempt(known)
      const wrong = await commands(auth, () => failures['a wrong secret']?.())
      for (const [other, reads] of [
        ['an unknown client', 1],
        // Everyone can see that it cannot.
        ['a client id that cannot exist', 0],
        ['a revoked client', 1],
        ['a client revoked since its record was read', 1],
      ] as const)
        assert.deepEqual(await commands(auth, () => failures[other]?.()), { ...wrong, reads }, other)
      assert.deepEqual(wrong, { incrby: 1, pttl: 2, mget: 0, reads: 1 })
    })
  })

/**
 * What authentication may ask of Redis: to count, and about revocation. What else runs is in the background,
 * as are the `set` of refusals that are noted for companies, each second.
 */
const COMMANDS = ['incrby', 'pttl', 'mget']

/** How often Redis ran each of these commands, and a client's record was read, while `act` ran. */
async function commands(auth: TestAuth, act: () => Promise<unknown> | undefined) {
  const admin = await auth.redis.connect('admin')
  const calls = async (): Promise<Record<string, number>> => {
    const stats = (await admin.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)
    return Object.fromEntries([...stats].map(([, name, count]) => [name, Number(count)]))
  }
  const { query } = pg.Client.prototype
  await using _ = afterwards(() => Object.assign(pg.Client.prototype, { query }))
  let reads = 0
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    if ((given[0] as { text?: string }).text?.includes('secret_hash as')) reads += 1
    return query.apply(this, given as never)
  } as typeof query
  const before = await calls()
  await act()
  const after = await calls()
  const counts = COMMANDS.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)])
  return { ...Object.fromEntries(counts), reads }
}
