import assert from 'node:assert/strict'
import { ASK, PUT_PAGE, REVOKE, TICK } from '#shared/revocation/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { ADD, BEGIN, MARK, SCAN } from '../../apps/api/revocation/round-scripts.ts'
import { forBlock } from '../support/block.ts'
import { asAdmin, replicate } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'

/** Its new primary may overwrite what it holds, and it may have missed what it does not hold. */
describe('a Redis server that replicates another', () => {
  const [primary, replica] = [forBlock(createTestRedis), forBlock(createTestRedis)]
  before(() => replicate(primary, replica))

  const { revocationMarker: marker, revocationTick: tick } = redisKeys
  const entry = redisKeys.revoked('client', 'cli_a')
  for (const readOnly of ['yes', 'no'])
    for (const [name, script, args] of [
      ['ASK', ASK, [marker, entry]],
      ['TICK', TICK, [tick, marker]],
      ['REVOKE', REVOKE, [entry, 1_000, marker]],
      ['PUT_PAGE', PUT_PAGE, ['revocation:page:k', '', 'x', 1_000]],
      ['BEGIN', BEGIN, ['nonce', 'n', 1_000, tick, marker, 'seen']],
      ['ADD', ADD, ['nonce', 'n', 1_000, entry]],
      ['MARK', MARK, ['run', '0', 'nonce', 'n', marker, 'x', 1, 'seen', 'x']],
      ['SCAN', SCAN, ['0', redisKeys.revokedAny, 10]],
    ] as const)
      it(`refuses ${name} (replica-read-only ${readOnly})`, () =>
        asAdmin(replica, async (redis) => {
          await redis.config('SET', 'replica-read-only', readOnly)
          await assert.rejects(redis.eval(script, 0, ...args), /READONLY|can not run it when/)
        }))
})
