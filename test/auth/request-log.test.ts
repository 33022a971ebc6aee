import { strict as assert } from 'node:assert'
import { ServerResponse } from 'node:http'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { byAssertion, createKeyClient, newKeyPair } from '../support/assertions.ts'
import { sharedAuth, type TestClient } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'

describe('the log of a client’s requests to the authorization server', () => {
  const auth = sharedAuth({ env: { RATE_TOKEN_PER_CLIENT: '5/60' } })
  const redis = forBlock(() => auth.redis.connect('admin'))
  const client = forEachTest(() => auth.createClient())

  const texts = ({ vendorId, clientId }: TestClient) =>
    redis.lrange(redisKeys.requests(vendorId, clientId), 0, -1)
  /** Newest first. */
  async function logged(of: TestClient, count: number): Promise<string[][]> {
    await eventually(async () => (await texts(of)).length >= count)
    return (await texts(of)).map((text) => text.split(' '))
  }

  it('says when a request was answered by a time before the answer was sent, so that the next is later', async () => {
    // The grant is cached, since oidc-provider ends an answer too.
    await auth.token(await auth.createClient())
    const { end } = ServerResponse.prototype
    const began_ms = auth.clock.now()
    // A busy machine may let the client go on before the process that answered does.
    ServerResponse.prototype.end = function (this: ServerResponse, ...sent: Parameters<typeof end>) {
      auth.clock.advance(60_000)
      return end.apply(this, sent)
    } as typeof end
    try {
      await auth.token(client)
    } finally {
      ServerResponse.prototype.end = end
    }
    const [request] = await logged(client, 1)
    assert.ok(Number(request?.[0]) < began_ms + 60_000)
  })

  it('has no request that anyone could have sent', async () => {
    const signed = await createKeyClient(auth)
    for (const sent of [{ client_secret: 'wrong' }, { client_secret: '' }]) await auth.token(client, sent)
    await auth.token(signed, await byAssertion(auth, { ...signed, keys: newKeyPair() }))
    // What is logged after them shows that they were not.
    await auth.token(client)
    assert.equal((await logged(client, 1)).length, 1)
    assert.deepEqual(await texts(signed), [])
  })

  it('has beside it the refusals, with no secret, and nothing about an unknown client', async () => {
    const unknown = newClientId()
    await auth.token({ ...client, clientId: unknown })
    await auth.token(client, { scope: client.clientSecret })
    const records = await eventually(async () => {
      const found = await redis.keys(redisKeys.refusal(client.vendorId, '*').replace(/[{}]/g, '?'))
      return found.length > 0 && redis.mget(found)
    })
    assert.equal(records.length, 1)
    assert.ok(!records[0]?.includes(client.clientSecret))
    assert.deepEqual(await redis.keys(`*${unknown}*`), [])
  })
})
