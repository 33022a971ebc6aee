import { strict as assert } from 'node:assert'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { newClientId } from '../../apps/api/accounts/new-ids.ts'
import type { RefusalRecord } from '../../apps/api/usage/refusals.ts'
import { byAssertion, createKeyClient, newKeyPair } from '../support/assertions.ts'
import { sharedAuth, type TestClient, tokenFields } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'

describe('what is noted of a refused request', () => {
  const auth = sharedAuth({ env: { RATE_TOKEN_PER_CLIENT: '5/60' } })
  const redis = forBlock(() => auth.redis.connect('admin'))
  const client = forEachTest(() => auth.createClient())

  /** Waits for that many at least. @returns them, newest first. */
  async function noted(
    { clientId, vendorId }: TestClient,
    kind: 'proven' | 'unproven' = 'proven',
    least = 1,
  ): Promise<RefusalRecord[]> {
    const positions = await eventually(async () => {
      const found = await redis.zrevrange(redisKeys.refusals(kind, vendorId, clientId), 0, -1)
      return found.length >= least && found
    })
    const keys = positions.map((position) => redisKeys.refusal(vendorId, position.split(' ')[1] ?? ''))
    return (await redis.mget(keys)).map((text) => JSON.parse(text ?? 'null'))
  }

  it('records what was wrong with a request of the client, under its request id', async () => {
    const { headers } = await auth.token(client, { scope: 'boost:write' })
    const [{ at_ms = 0, ...rest } = {}] = await noted(client)
    assert.ok(Math.abs(at_ms - auth.clock.now()) < 60_000)
    assert.deepEqual(rest, {
      clientId: client.clientId,
      requestId: headers.get('x-request-id'),
      route: 'POST /v1/oauth/token',
      status: 400,
      code: 'invalid_scope',
      reason: 'invalid_scope',
      about: 'boost:write',
      address: '127.0.0.1',
    })
  })

  it('names the scopes that the client does not have, and repeats nothing else that was sent', async () => {
    await auth.token(client, { scope: 'boost:write nonsense catalog:write analytics:read' })
    const [record] = await noted(client)
    assert.equal(record?.about, 'catalog:write, boost:write')
    const other = await auth.createClient()
    await auth.token(other, { scope: 'analytics:read nonsense' })
    const [unknown] = await noted(other)
    assert.deepEqual([unknown?.reason, unknown?.about], ['invalid_scope', undefined])
  })

  it('keeps wrong secrets apart, so that a stranger who knows the id pushes nothing out', async () => {
    await auth.token(client, { client_secret: 'wrong' })
    const [record] = await noted(client, 'unproven')
    assert.equal(record?.reason, 'wrong_secret')
    assert.equal(await redis.exists(redisKeys.refusals('proven', client.vendorId, client.clientId)), 0)
  })

  it('says by how many seconds the dates of an assertion are off, once its signature held', async () => {
    const signed = await createKeyClient(auth)
    const now_s = Math.floor(auth.clock.now() / 1_000)
    const dates: [object, string, number][] = [
      [{ iat: now_s + 540, exp: now_s + 600 }, 'assertion_from_the_future', 540],
      [{ iat: now_s - 560, exp: now_s - 500 }, 'assertion_expired', 500],
      [{ exp: now_s + 86_400 }, 'assertion_too_far_ahead', 86_400],
    ]
    for (const [claims] of dates) await auth.token(signed, await byAssertion(auth, signed, claims))
    await auth.token(signed, await byAssertion(auth, { ...signed, keys: newKeyPair() }, { iat: now_s + 540 }))
    const records = await noted(signed, 'unproven', 4)
    const found = new Map(records.map(({ reason, about }) => [reason, about]))
    for (const [, reason, seconds] of dates)
      assert.ok(Math.abs(Number(found.get(reason)) - seconds) <= 1, `${reason}: ${found.get(reason)}`)
    assert.ok(found.has('assertion_wrong_key') && found.get('assertion_wrong_key') === undefined)
    assert.equal(await redis.exists(redisKeys.refusals('proven', signed.vendorId, signed.clientId)), 0)
  })

  it('records that the client was revoked, where the caller learns only invalid_client', async () => {
    await auth.markRevoked(client)
    await auth.token(client)
    const [record] = await noted(client)
    const { status, code, reason } = record ?? {}
    assert.deepEqual([status, code, reason], [401, 'invalid_client', 'revoked_client'])
  })

  it('records that the client was over its rate', async () => {
    for (let times = 0; times < 6; times += 1) await auth.token(client)
    const [record] = await noted(client)
    assert.deepEqual([record?.status, record?.reason], [429, 'rate_of_client'])
  })

  it('records no secret, and nothing about an unknown client', async () => {
    const unknown = newClientId()
    await auth.token({ ...client, clientId: unknown })
    await auth.token(client, { scope: client.clientSecret })
    const records = await noted(client)
    assert.equal(records.length, 1)
    assert.ok(!JSON.stringify(records).includes(tokenFields(client).client_secret as string))
    assert.deepEqual(await redis.keys(`*${unknown}*`), [])
  })
})
