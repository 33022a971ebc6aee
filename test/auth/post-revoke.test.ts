import { strict as assert } from 'node:assert'
import { decodeJwt } from 'jose'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { encode } from '../support/assertions.ts'
import { type AuthResponse, sharedAuth, startAuth, type TestClient } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'

const PATH = '/v1/oauth/revoke'

describe('POST /v1/oauth/revoke', () => {
  const auth = sharedAuth({ trusted: true })
  const client = forBlock(() => auth.createClient())
  /** What another process of the installation, such as the resource API, asks. */
  let elsewhere: Revocation

  before(async () => {
    const db = auth.database.connect('api', { poolSize: 2 })
    elsewhere = createRevocation({ redis: await auth.redis.connect('api'), db })
    // Each process learns it on its own; until then every revocation takes seconds.
    await eventually(async () => {
      const { redis } = elsewhere.counts()
      await elsewhere.ask({ clientId: 'anyone' })
      return elsewhere.counts().redis > redis
    })
  })

  const requestToken = async (owner = client): Promise<string> => (await auth.token(owner)).json.access_token
  const revoke = (owner: TestClient, token: string, more: Record<string, string> = {}, at = auth) =>
    at.post(PATH, { client_id: owner.clientId, client_secret: owner.clientSecret, token, ...more })
  const standing = (token: string) => {
    const { jti, client_id } = decodeJwt<{ client_id: string }>(token)
    return elsewhere.ask({ clientId: client_id, jti: jti as string })
  }

  function assertDone(response: AuthResponse): void {
    assert.equal(response.status, 200, response.text)
    assert.equal(response.text, '')
    assert.equal(response.headers.get('cache-control'), 'no-store')
    // Clients that parse by media type must not try to parse nothing.
    assert.equal(response.headers.get('content-type'), null)
  }

  it('ends a live token of the client, at every process, before it answers', async () => {
    const token = await requestToken()
    assert.equal(await standing(token), 'live')
    assertDone(await revoke(client, token))
    assert.deepEqual(await standing(token), { revoked: 'token' })
    const { jti = '', exp = 0 } = decodeJwt(token)
    const { client_id, expires_at } = await auth.db('revoked_tokens').where({ jti }).first()
    assert.deepEqual([client_id, expires_at], [client.clientId, new Date(exp * 1_000)])
  })

  it('ends a token with a line feed or padding behind it, as a file or a library leaves it', async () => {
    for (const end of ['\n', '==']) {
      const token = await requestToken()
      assertDone(await revoke(client, token + end))
      assert.deepEqual(await standing(token), { revoked: 'token' })
    }
  })

  it('ends a token that had expired by any clock', async () => {
    auth.clock.advance(-3_600_000)
    const token = await requestToken().finally(() => auth.clock.advance(3_600_000))
    assertDone(await revoke(client, token))
    assert.deepEqual(await standing(token), { revoked: 'token' })
  })

  it('answers 503 to a token of a key that only other processes can open, as introspection does', async () => {
    const kid = 'of-others'
    const [header = '', ...rest] = (await requestToken()).split('.')
    const named = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), kid }
    const token = [encode(named), ...rest].join('.')
    assertDone(await revoke(client, token))
    await auth.db.raw(
      `insert into signing_keys (kid, alg, public_jwk, private_key_encrypted, created_at, activates_at)
       values (?, 'ES256', '{}', '\\x00', now(), null)`,
      [kid],
    )
    await using later = await startAuth({ beside: auth })
    const { status } = await revoke(client, token, {}, later)
    const introspected = await later.introspect(await auth.createService(), token)
    await auth.db.raw('delete from signing_keys where kid = ?', [kid])
    assert.deepEqual([status, introspected.status], [503, 503])
  })

  describe('answers 200 and does nothing for', () => {
    const revokedTokens = () => auth.db('revoked_tokens').pluck('jti')
    const tokens: Record<string, () => string | Promise<string>> = {
      'a client secret': () => client.clientSecret,
      'a token with another signature': async () => (await requestToken()).replace(/[^.]*$/, 'A'.repeat(86)),
    }
    for (const [name, make] of Object.entries(tokens))
      it(name, async () => {
        const token = await make()
        const before = await revokedTokens()
        assertDone(await revoke(client, token))
        assert.deepEqual(await revokedTokens(), before)
      })
  })
})
