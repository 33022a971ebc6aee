import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readUsesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { sharedDatabase } from '../support/database.ts'

const MINUTE_S = 60

describe('the time before which uses of clients may be missing', () => {
  const database = sharedDatabase()
  beforeEach(async () => {
    await database.owner.raw('delete from usage_writers')
    await database.owner.raw('delete from restore_fences')
  })

  const writer = (flushedAgo_s: number, lostAgo_s?: number) =>
    database.owner.raw(
      `insert into usage_writers (writer, batch, flushed_at, lost_at)
       values (?, 1, clock_timestamp() - make_interval(secs => ?),
         clock_timestamp() - make_interval(secs => ?))`,
      [randomUUID(), flushedAgo_s, lostAgo_s ?? null] as never,
    )
  const fence = (raisedAgo_s: number, loweredAgo_s?: number) =>
    database.owner.raw(
      `insert into restore_fences (raised_at, reason, lowered_at)
       values (clock_timestamp() - make_interval(secs => ?), 'a test',
         clock_timestamp() - make_interval(secs => ?))`,
      [raisedAgo_s, loweredAgo_s ?? null] as never,
    )
  async function assertMissing(ago_s: number) {
    const at = await readUsesMissingBefore(database.api)
    const { rows } = await database.owner.raw('select clock_timestamp() as now')
    const found_s = (rows[0].now.getTime() - (at?.getTime() ?? 0)) / 1_000
    assert.ok(Math.abs(found_s - ago_s) < 5, `${found_s} s ago`)
  }

  it('is never, if every process stores what it counts', async () => {
    await writer(1)
    await writer(50)
    assert.equal(await readUsesMissingBefore(database.api), undefined)
  })

  it('is when a process last dropped uses', async () => {
    await writer(1, 30 * MINUTE_S)
    await writer(1, 20 * MINUTE_S)
    await assertMissing(20 * MINUTE_S)
  })

  it('is now, while a process that has stored nothing for a minute may still issue tokens', async () => {
    await writer(70)
    await assertMissing(0)
  })

  it('is ten minutes after a vanished process last stored anything', async () => {
    await writer(60 * MINUTE_S)
    await writer(120 * MINUTE_S)
    await assertMissing(50 * MINUTE_S)
  })

  it('is when the database was last released after a restore, and now before that', async () => {
    await fence(90 * MINUTE_S, 80 * MINUTE_S)
    await assertMissing(80 * MINUTE_S)
    await fence(10 * MINUTE_S)
    await assertMissing(0)
  })

  it('is the latest of these', async () => {
    await writer(60 * MINUTE_S, 40 * MINUTE_S)
    await fence(90 * MINUTE_S, 45 * MINUTE_S)
    await assertMissing(40 * MINUTE_S)
  })
})
