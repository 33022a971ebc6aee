import assert from 'node:assert/strict'
import { createTurns } from '../../apps/api/analytics/turns.ts'

describe('taking turns', () => {
  it('gives up on a wait that is too long, does not do the work, and lets the next one go on', async () => {
    const takeTurns = createTurns({ atOnce: 1, waitingMax: 2, wait_ms: 50 })
    const done: string[] = []
    let finish = () => {}
    const first = takeTurns('ven_a', () => new Promise<void>((resolve) => (finish = resolve)))
    await assert.rejects(
      takeTurns('ven_a', async () => done.push('late')),
      { code: 'unavailable' },
    )
    const next = takeTurns('ven_a', async () => done.push('next'))
    finish()
    await Promise.all([first, next])
    assert.deepEqual(done, ['next'])
  })
})
