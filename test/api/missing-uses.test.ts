import assert from 'node:assert/strict'
import { readUsesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { sharedDatabase } from '../support/database.ts'

const MINUTE_S = 60

const AGO = 'clock_timestamp() - make_interval(secs => ?)'
const writer = (flushed_s: number, lost_s: number | null = null) =>
  [
    `insert into usage_writers (writer, batch, flushed_at, lost_at) values (gen_random_uuid(), 1, ${AGO}, ${AGO})`,
    [flushed_s, lost_s],
  ] as const
const fence = (raised_s: number, lowered_s: number | null = null) =>
  [
    `insert into restore_fences (reason, raised_at, lowered_at) values ('a test', ${AGO}, ${AGO})`,
    [raised_s, lowered_s],
  ] as const

describe('the time before which uses of clients may be missing', () => {
  const database = sharedDatabase()
  beforeEach(async () => {
    await database.owner.raw('delete from usage_writers')
    await database.owner.raw('delete from restore_fences')
  })

  for (const [what, ago_s, rows] of [
    ['never, if every process stores what it counts', null, [writer(1), writer(50)]],
    ['when a process last dropped uses', 20 * MINUTE_S, [writer(1, 30 * MINUTE_S), writer(1, 20 * MINUTE_S)]],
    ['now, while a process that stored nothing for a minute may still issue tokens', 0, [writer(70)]],
    ['ten minutes after a vanished process last wrote', 50 * MINUTE_S, [writer(3_600), writer(7_200)]],
    ['when the database was last released', 80 * MINUTE_S, [fence(90 * MINUTE_S, 80 * MINUTE_S)]],
    ['now, before a restored database is released', 0, [fence(5_400, 4_800), fence(600)]],
    ['the latest of these', 40 * MINUTE_S, [writer(3_600, 40 * MINUTE_S), fence(5_400, 45 * MINUTE_S)]],
  ] as const)
    it(`is ${what}`, async () => {
      for (const [insert, times_s] of rows) await database.owner.raw(insert, times_s as never)
      const at = await readUsesMissingBefore(database.api)
      const found_s = at && (Date.now() - at.getTime()) / 1_000
      assert.equal(at === undefined, ago_s === null)
      assert.ok(Math.abs((found_s ?? 0) - (ago_s ?? 0)) < 5, `${found_s} s ago`)
    })
})
