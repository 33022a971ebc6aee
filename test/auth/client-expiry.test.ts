import { strict as assert } from 'node:assert'
import { newClientSecret } from '../../apps/api/accounts/new-ids.ts'
import { byAssertion, createKeyClient, type KeyClient } from '../support/assertions.ts'
import { basic, sharedAuth } from '../support/auth.ts'
import { refusalReasons } from '../support/log.ts'
import { assertStatuses } from '../support/problem.ts'

const HOUR_MS = 3_600_000

describe('a client that expires', () => {
  const auth = sharedAuth({ trusted: true })
  const byKey = async (client: KeyClient) => auth.token(client, await byAssertion(auth, client))
  const expiring = (left_ms: number) => auth.createClient({ expiresAt: new Date(auth.clock.now() + left_ms) })

  it('gives its last token before the time, by secret or key, and none from then on', async () => {
    const client = await expiring(HOUR_MS)
    const withKey = await createKeyClient(auth, { expiresAt: new Date(auth.clock.now() + HOUR_MS) })
    const ask = async () => [await auth.token(client), await byKey(withKey)]
    auth.clock.advance(HOUR_MS - 1)
    assertStatuses(await ask(), 200, 200)
    auth.clock.advance(1)
    auth.logLines.length = 0
    const refused = await ask()
    const wrong = await auth.token(client, { client_secret: newClientSecret() })
    for (const { status, text, headers } of refused)
      assert.deepEqual([status, text, [...headers.keys()]], [401, wrong.text, [...wrong.headers.keys()]])
    assert.deepEqual(refusalReasons(auth), ['expired_client', 'expired_client', 'wrong_secret'])
  })

  it('refuses it at the revocation endpoint as well, while its live token runs out', async () => {
    const client = await expiring(HOUR_MS)
    auth.clock.advance(HOUR_MS - 1_000)
    const { access_token } = (await auth.token(client)).json
    auth.clock.advance(2_000)
    const authorization = basic(client.clientId, client.clientSecret)
    const { status } = await auth.post('/v1/oauth/revoke', { token: access_token }, { authorization })
    assert.equal(status, 401)
    assert.equal((await auth.introspect(await auth.createService(), access_token)).json.active, true)
  })

  it('names revocation first, of a client that is both', async () => {
    const client = await expiring(HOUR_MS)
    await auth.markRevoked(client)
    auth.clock.advance(HOUR_MS)
    auth.logLines.length = 0
    assert.equal((await auth.token(client)).status, 401)
    assert.deepEqual(refusalReasons(auth), ['revoked_client'])
  })
})
