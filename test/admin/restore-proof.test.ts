import assert from 'node:assert/strict'
import { insertRevokedSigningKey } from '#shared/revocation/state.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { lowerFence, raiseFence, readFence } from '../../apps/api/revocation/fences.ts'
import { findLostRevocations, repeatRevocations } from '../../infra/admin/restore.ts'
import { forBlock } from '../support/block.ts'
import { testOperator } from '../support/operator.ts'
import { sharedStores } from '../support/revocation.ts'
import { connectedDatabase, lockTable, untilBlocked } from '../support/stores.ts'

describe('what Redis proves after a restore', () => {
  const stores = sharedStores()
  const redis = forBlock(() => stores.server.connect('admin'))
  const nothing = { clients: [], keys: [], tokens: [] }

  it('revokes again what Redis names as the newest revocation, though its entry has expired', async () => {
    await redis.set(redisKeys.revocationSeen, '1000 7/16384/16500 cli_newest')
    await redis.set(redisKeys.revoked('token', 'jti_lost'), '1')
    const { clients, keys, tokens } = await findLostRevocations(stores.db, redis)
    assert.deepEqual([clients, keys, tokens], [['cli_newest'], ['cli_newest'], ['jti_lost']])
  })

  it('reports a signing key as revoked again only if its revocation was lost', async () => {
    const [known, lost] = [await stores.newKey(), await stores.newKey()]
    await insertRevokedSigningKey(stores.db, known)
    await raiseFence(stores.db, 'the first')
    // Every process has noticed it.
    await stores.db.raw(`update restore_fences set raised_at = raised_at - interval '6 s'`)
    const revocations = { ...nothing, keys: [known, lost] }
    const { keys } = await repeatRevocations(stores.db, revocations, { by: testOperator(), show() {} })
    assert.deepEqual(keys, [lost])
    await lowerFence(stores.db)
  })

  it('is revoked again behind a fence that "restore confirm" cannot lower meanwhile', async () => {
    await raiseFence(stores.db, 'the second')
    await stores.db.raw(`update restore_fences set raised_at = raised_at - interval '6 s'`)
    await using beside = connectedDatabase(stores.database.ownerUrl, { poolSize: 2 })
    const lock = await lockTable(stores.db, 'sessions')
    const repeating = repeatRevocations(beside, nothing, { by: testOperator(), show() {} })
    await untilBlocked(stores.db)
    const lowering = lowerFence(beside)
    await untilBlocked(stores.db, 2).finally(() => lock.rollback())
    await Promise.all([repeating, lowering])
  })

  it('is revoked again behind a fence, for which it waits if "restore confirm" lowered it meanwhile', async () => {
    // The second time after the clock was set back.
    for (const ahead of ['0 s', '1 hour']) {
      await stores.db.raw(`update restore_fences set raised_at = raised_at + interval '${ahead}'`)
      const waiting = await new Promise<string>((waits) => {
        const show = (line: string) => line.startsWith('Waiting') && waits(line)
        void repeatRevocations(stores.db, nothing, { by: testOperator(), show })
      })
      assert.match(waiting, /^Waiting [56] s until every process/)
    }
    assert.equal((await readFence(stores.db))?.reason, 'an operator: admin restore fence')
  })
})
