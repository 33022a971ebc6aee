import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { watchLoopLag } from '#shared/process/loop-lag.ts'

const HELD_UP_MS = 600
/** Other programs hold a test up too. */
const LIMIT_MS = 400

describe('the watch over the event loop', () => {
  it('warns once with the routes that ran when the loop was held up, and tells for how long', async () => {
    const lines: { level: number; msg: string; lag_ms: number; routes: string[] }[] = []
    const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
    const lag = watchLoopLag(log, LIMIT_MS)
    try {
      await sleep(50)
      lag.ran('GET /slow')
      for (const end = performance.now() + HELD_UP_MS; performance.now() < end; );
      for (const end = performance.now() + 5_000; lines.length === 0; await sleep(20))
        assert.ok(performance.now() < end, 'no warning in 5 s')
      const [{ level, lag_ms, routes } = { level: 0, lag_ms: 0, routes: [] }] = lines
      assert.deepEqual([level, routes], [40, ['GET /slow']])
      assert.ok(lag_ms >= HELD_UP_MS - 50, String(lag_ms))
    } finally {
      lag.stop()
    }
  })
})
