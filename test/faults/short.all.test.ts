import assert from 'node:assert/strict'
import { FAULTS } from '../trials/faults/faults.ts'
import { runFaults } from '../trials/faults/run.ts'

/** One of each kind whose damage is mended soon; `npm run faults` has them all. */
const SHORT = [
  'postgres killed, back at once',
  'both stores gone',
  'postgres clock two hours ahead, redis flushed',
]
const SEED = '20633011'
/** For busy machines: many times what it takes. */
const RECOVERY_MAX_MS = 180_000
const ANSWER_MAX_MS = 60_000
/** Fewer requests than in `npm run faults`, of every kind and at every process. */
const PAUSE_MS = 120

describe('while stores and clocks fail', () => {
  it('accepts nothing revoked, loses nothing acknowledged and recovers while stores and clocks fail', async function () {
    this.timeout(1_100_000)
    const { rows, violations, revocations, events } = await runFaults({
      seed: SEED,
      faults: FAULTS.filter(({ name }) => SHORT.includes(name)),
      pause_ms: PAUSE_MS,
      answerMax_ms: ANSWER_MAX_MS,
      recoveryMax_ms: RECOVERY_MAX_MS,
    })
    assert.deepEqual(violations, [])
    assert.deepEqual(
      rows.map(({ fault }) => fault),
      SHORT,
    )
    // A quiet machine makes some hundred.
    assert.ok(revocations > 0 && events > 0, `${revocations} revocations and ${events} events`)
  })
})
