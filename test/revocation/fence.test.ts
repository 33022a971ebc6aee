import assert from 'node:assert/strict'
import { FENCED } from '#shared/revocation/fence.ts'
import { raiseFence, readFence } from '../../apps/api/revocation/fences.ts'
import { sharedDatabase } from '../support/database.ts'

describe('the restore fence', () => {
  const database = sharedDatabase()
  const isFenced = async () => (await database.owner.raw(`select ${FENCED} as fenced`)).rows[0].fenced
  afterEach(() => database.owner.raw('delete from restore_fences'))

  it('refuses access from when it is raised until it is lowered, and keeps the first reason', async () => {
    assert.deepEqual([await isFenced(), await readFence(database.owner)], [false, undefined])
    await raiseFence(database.owner, 'first')
    await raiseFence(database.owner, 'second')
    const { reason, age_ms, raisedAt } = (await readFence(database.owner)) ?? {}
    assert.deepEqual([await isFenced(), reason, raisedAt instanceof Date], [true, 'first', true])
    assert.ok(age_ms !== undefined && age_ms >= 0 && age_ms < 60_000, `${age_ms} ms`)
    await database.owner.raw('update restore_fences set lowered_at = clock_timestamp()')
    assert.deepEqual([await isFenced(), await readFence(database.owner)], [false, undefined])
  })
})
