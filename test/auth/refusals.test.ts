import { strict as assert } from 'node:assert'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import { sharedAuth } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'

describe('what is noted of refused requests', () => {
  const auth = sharedAuth()
  const redis = forBlock(() => auth.redis.connect('admin'))
  const client = forEachTest(() => auth.createClient())

  it('records no secret, and nothing about an unknown client', async () => {
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
