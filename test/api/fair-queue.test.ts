import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import { createEventTurns } from '../../apps/api/analytics/report-events.ts'
import { createLookupTurns } from '../../apps/api/callbacks/save-callback.ts'
import { createFairQueue, type FairQueueOptions } from '../../apps/api/http/fair-queue.ts'
import { createPasswordQueue } from '../../apps/api/sessions/password-queue.ts'
import { queueFetches } from '../../apps/api/workload/fetch-keys.ts'

const FULL = 'no place'

/** Creates a queue, with the keys that it started and refused. */
function createWatchedQueue(options: Partial<FairQueueOptions> = {}) {
  const limits = { concurrency: 1, waitingMax: 10, wait_ms: 60_000, ...options }
  const queue = createFairQueue({ refusal: () => new Error(FULL), ...limits })
  const started: string[] = []
  const refused: string[] = []
  const ends = new Map<string, () => void>()
  const come = (name: string) =>
    queue(name.slice(0, 1), () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.set(name, resolve))
    }).catch(({ message }: Error) => {
      assert.equal(message, FULL)
      refused.push(name)
    })
  /** The key of a caller is the first letter of its name. */
  const arrive = (...names: string[]) => names.map((name) => come(name))
  const end = async (...names: string[]) => {
    for (const name of names) {
      ends.get(name)?.()
      await settled()
    }
  }
  return { queue, started, refused, arrive, end }
}

describe('a waiting line', () => {
  it('lets keys take turns, and the first of each key come first', async () => {
    const { started, arrive, end } = createWatchedQueue()
    arrive('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1')
    await end('a1', 'a2', 'b1', 'c1', 'a3', 'b2')
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })

  it('admits as many at once as it says, and no more than that of one key', async () => {
    const { started, arrive, end } = createWatchedQueue({ concurrency: 3, concurrencyPerKey: 2 })
    arrive('a1', 'a2', 'a3', 'b1', 'c1')
    assert.deepEqual(started, ['a1', 'a2', 'b1'])
    await end('b1')
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'c1'])
    await end('a1')
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'c1', 'a3'])
  })

  it('gives places to newcomers of other keys when it is full, from the key that has the most', async () => {
    const { started, refused, arrive, end } = createWatchedQueue({ waitingMax: 4 })
    arrive('a1', 'a2', 'a3', 'a4', 'a5', 'a6')
    await settled()
    assert.deepEqual(refused, ['a6'])
    arrive('b1', 'b2', 'b3')
    await settled()
    assert.deepEqual(refused, ['a6', 'a5', 'a4', 'b3'])
    await end('a1', 'a2', 'b1', 'a3')
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  it('refuses a newcomer when every key has one place', async () => {
    const { refused, arrive } = createWatchedQueue({ waitingMax: 2 })
    arrive('a1', 'b1', 'c1', 'd1')
    await settled()
    assert.deepEqual(refused, ['d1'])
  })

  it('gives up on a wait that is too long, does not do the work, and lets the next one go on', async () => {
    const { started, refused, arrive, end } = createWatchedQueue({ waitingMax: 2, wait_ms: 50 })
    const [, late] = arrive('a1', 'a2')
    await late
    assert.deepEqual(refused, ['a2'])
    arrive('a3')
    await end('a1')
    assert.deepEqual(started, ['a1', 'a3'])
  })

  it('continues after work that failed, and passes its error on', async () => {
    const { queue } = createWatchedQueue()
    const failing = queue('a', () => Promise.reject(new Error('from the work')))
    const next = queue('a', async () => 'done')
    await assert.rejects(failing, { message: 'from the work' })
    assert.equal(await next, 'done')
  })

  it('keeps nothing of keys that are gone, and counts right through any mixture', async () => {
    const limits = { concurrency: 2, concurrencyPerKey: 1, waitingMax: 5 }
    const { started, refused, arrive, end } = createWatchedQueue(limits)
    const names = Array.from({ length: 40 }, (_, n) => `${'abc'[n % 3]}${n}`)
    const all = arrive(...names)
    for (let n = 0; n < names.length; n++) await end(...started.slice(n, n + 1))
    await Promise.all(all)
    assert.equal(started.length + refused.length, 40)
    assert.equal(started.length, 7)
    arrive('x1', 'y1')
    assert.deepEqual(started.slice(-2), ['x1', 'y1'])
  })
})

describe('the longest wait in a line of production', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  it('is over for whoever has begun, and takes no place of others', async () => {
    const { started, arrive, end } = createWatchedQueue()
    arrive('a1', 'a2')
    await end('a1')
    mock.timers.tick(50_000)
    arrive('a3')
    mock.timers.tick(10_000)
    await end('a2')
    assert.deepEqual(started, ['a1', 'a2', 'a3'])
  })

  const never = () => new Promise<never>(() => {})
  const { runQueued } = createPasswordQueue()
  const [events, lookups] = [createEventTurns(), createLookupTurns()]
  const fetchKeys = queueFetches(never)
  for (const [what, wait_ms, places, come] of [
    ['a known address to try a password', 8_000, 1, () => runQueued({ address: 'a', known: true }, never)],
    ['a stranger to try a password', 8_000, 2, () => runQueued({ address: 'a', known: false }, never)],
    ['a call that reports events', 15_000, 2, () => events('ven_a', never)],
    ['the name of a callback to be looked up', 5_000, 2, () => lookups('ven_a', never)],
    ['the keys of an issuer', 5_000, 2, () => fetchKeys('ven_a', 'https://issuer.test')],
  ] as const)
    it(`is ${wait_ms} ms for ${what}`, async () => {
      const [late] = Array.from({ length: places + 1 }, come).slice(places)
      mock.timers.tick(wait_ms)
      await assert.rejects(Promise.race([late, settled()]), { code: 'unavailable' })
    })
})
