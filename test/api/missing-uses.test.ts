import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readUsesMissingBefore } from '../../apps/api/usage/missing-uses.ts'
import { sharedDatabase } from '../support/database.ts'

const MINUTE_S = 60
const HOUR_S = 3_600
const AGO = 'clock_timestamp() - make_interval(secs => ?)'

describe('the time before which uses of clients may be missing', () => {
  const database = sharedDatabase()
  beforeEach(async () => {
    await database.owner.raw('delete from usage_writers')
    await database.owner.raw('delete from restore_fences')
  })

  /** A process of the authorization server. */
  const writer =
    (flushed_s: number, lost_s: number | null = null, id = randomUUID() as string) =>
    () =>
      database.owner.raw(
        `insert into usage_writers (writer, batch, flushed_at, lost_at, role)
         values (?, 1, ${AGO}, ${AGO}, 'integration_auth')`,
        [id, flushed_s, lost_s],
      )
  const fence =
    (raised_s: number, lowered_s: number | null = null) =>
    () =>
      database.owner.raw(
        `insert into restore_fences (reason, raised_at, lowered_at) values ('a test', ${AGO}, ${AGO})`,
        [raised_s, lowered_s],
      )
  const writes =
    (service: 'auth' | 'api', id = randomUUID() as string) =>
    () =>
      database[service].raw(`select record_usage(?, 1, '[]', false, false)`, [id])
  const passes = (s: number) => () =>
    database.owner.raw(
      `update usage_writers
       set flushed_at = flushed_at - s, missed_at = missed_at - s from make_interval(secs => ?) as s`,
      [s],
    )
  const [silent, other] = [randomUUID(), randomUUID()]
  const writesForAnHour = (service: 'auth' | 'api') =>
    [writes(service, other), passes(HOUR_S), writes(service, other)] as const

  for (const [what, ago_s, steps] of [
    ['never, if every process stores what it counts', null, [writer(1), writer(50)]],
    ['when a process last dropped uses', 20 * MINUTE_S, [writer(1, 30 * MINUTE_S), writer(1, 20 * MINUTE_S)]],
    ['now, while none can write, for however long', 0, [writer(3 * HOUR_S), writer(2 * HOUR_S)]],
    ['now, while one service cannot write', 0, [writer(3 * HOUR_S), ...writesForAnHour('api')]],
    ['now, while one that stored nothing may still issue tokens', 0, [writer(3 * HOUR_S), writes('auth')]],
    ['ten minutes after others wrote again', 50 * MINUTE_S, [writer(3 * HOUR_S), ...writesForAnHour('auth')]],
    [
      'now, if one that had written again has just vanished',
      0,
      [
        writer(HOUR_S, null, silent),
        writes('auth', other),
        writes('auth', silent),
        ...writesForAnHour('auth'),
      ],
    ],
    ['when the database was last released', 80 * MINUTE_S, [fence(90 * MINUTE_S, 80 * MINUTE_S)]],
    ['now, before a restored database is released', 0, [fence(5_400, 4_800), fence(600)]],
    ['the latest of these', 40 * MINUTE_S, [writer(1, 40 * MINUTE_S), fence(5_400, 45 * MINUTE_S)]],
  ] as const)
    it(`is ${what}`, async () => {
      for (const step of steps) await step()
      const at = await readUsesMissingBefore(database.api)
      const found_s = at && (Date.now() - at.getTime()) / 1_000
      assert.equal(at === undefined, ago_s === null)
      assert.ok(Math.abs((found_s ?? 0) - (ago_s ?? 0)) < 5, `${found_s} s ago`)
    })

  it('lets no process wait for a silent one that writes', async () => {
    await writer(3 * HOUR_S, null, silent)()
    await database.auth.transaction(async (transaction) => {
      await transaction.raw(`select record_usage(?, 1, '[]', false, false)`, [silent])
      await writes('auth')()
    })
  })
})
