import assert from 'node:assert/strict'
import fc from 'fast-check'
import { forBlock } from '../support/block.ts'
import {
  createRotationWorld,
  DAY_MS,
  MINUTE_MS,
  openStores,
  type RotationWorld,
} from '../support/rotation-world.ts'
import { EVERYTHING } from '../support/tier.ts'

/*
 * Random histories of an armed client, of two processes that count its uses, and of faults, against a real Postgres and
 * Redis. Whatever happens:
 *
 *   - it is never revoked earlier than the chosen days after its last counted use;
 *   - a use that was never counted, because its process was killed or the database restored, puts it off as well, and
 *     the answer says so;
 *   - once all is quiet, it is revoked.
 *
 * A failure prints the seed and the actions: FC_SEED=<seed> npx mocha test/api/armed-revocations.test.ts
 */
const FIXED_SEED = 20_611_125
const SEED = Number(process.env.FC_SEED ?? FIXED_SEED)
const RUNS = Number(process.env.FC_RUNS ?? (EVERYTHING ? 60 : 20))
/** Uses that wait in a process are known this much later. */
const STORED_WITHIN_MS = 5 * MINUTE_MS

const one = fc.constantFrom<0 | 1>(0, 1)
const action = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('use' as const), one) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('store' as const), one) },
  { weight: 5, arbitrary: fc.tuple(fc.constant('storeAll' as const)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('kill' as const), one) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('pass' as const), fc.constantFrom(0.6, 2, 4, 60, 700)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('approachEnd' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('loseRedis' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('backUp' as const)) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('restore' as const)) },
)

describe('an armed revocation, whatever happens', function () {
  this.timeout(300_000)
  const stores = forBlock(openStores)

  /** @throws if there was a use in its quiet days, which ended five minutes ago at the latest. */
  function assertQuiet({ uses, now }: RotationWorld, quietDays: number): void {
    for (const { at_ms, fate } of uses) {
      const ago_ms = now() - at_ms
      const isNews = ago_ms < STORED_WITHIN_MS && fate !== 'stored'
      assert.ok(
        isNews || ago_ms >= quietDays * DAY_MS + STORED_WITHIN_MS,
        `revoked ${(ago_ms / MINUTE_MS).toFixed(1)} minutes after a use that is ${fate}`,
      )
    }
  }

  it('comes no earlier than the chosen days after the last use', async () => {
    const tally = { early: 0, late: 0, putOff: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(action, { minLength: 8, maxLength: 40 }),
        async (quietDays, actions) => {
          const world = await createRotationWorld(stores, quietDays)
          for (const [name, argument] of actions) {
            await world[name](argument as never)
            if (!(await world.judge())) continue
            tally.early += 1
            return assertQuiet(world, quietDays)
          }
          await endQuietly(world, quietDays)
        },
      ),
      { seed: SEED, numRuns: RUNS, endOnFailure: false, interruptAfterTimeLimit: 200_000 },
    )
    for (const [what, count] of Object.entries(tally)) assert.ok(count > 0, `never ${what}`)

    async function endQuietly(world: RotationWorld, quietDays: number) {
      await world.storeAll()
      // A process that was killed might have gone on without Postgres until then.
      await world.pass(11)
      await world.storeAll()
      const last = world.uses.findLast(({ fate }) => fate !== 'waiting')
      if (last?.fate === 'lost') {
        tally.putOff += 1
        assert.equal((await world.answer()).armed?.postponed, 'uses_may_be_missing')
      }
      await world.pass(quietDays * 24 * 60 - 12)
      await world.storeAll()
      if (await world.judge()) return assertQuiet(world, quietDays)
      await world.pass(20)
      await world.storeAll()
      assert.ok(await world.judge(), 'not revoked after all these days')
      tally.late += 1
      assertQuiet(world, quietDays)
    }
  })
})
