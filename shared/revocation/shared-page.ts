import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys, redisLifetimes } from '#shared/stores/redis-keys.ts'
import type { Lease } from './lease.ts'
import { PUT_PAGE, TICK } from './redis.ts'

/** A process that is waited for may have stopped. If its successor is as slow, none waits longer. */
const WAIT_MAX_MS = 500
const WAIT_MS = 25

/**
 * Returns a function that obtains a page whose statement began after `after_ms`, and a time before which it
 * did not begin: the page of another process with the signing key `kid`, or of `create`, for all; `create`
 * must not reject. Without Redis, each process creates its own. Redis holds run_id, count, an id, and then
 * the text. The count was drawn before the statement, which so began after every tick with a lower count.
 */
export const createSharedPage =
  ({ redis, lease, monotonic }: { redis: Redis; lease: Lease; monotonic: () => number }) =>
  async (
    { kid, after_ms, isCurrent }: { kid: string; after_ms: number; isCurrent: (text: string) => boolean },
    create: () => Promise<string | undefined>,
  ) => {
    const key = redisKeys.revocationPage(kid)
    const put = (expected: string, value: string) =>
      redis.eval(PUT_PAGE, 0, key, expected, value, redisLifetimes.revocationPage_ms).catch(lease.suspect)
    const end_ms = performance.now() + 2 * WAIT_MAX_MS
    let awaitedId = ''
    let waitUntil_ms = end_ms
    let claim = ''
    while (!claim && lease.isUsable()) {
      const ticking = redis.eval(TICK, 0, redisKeys.revocationTick, key).catch(() => [])
      const [runId, count = 0, shared = null] = (await ticking) as [string?, number?, (string | null)?]
      const [from = '', drawn = '', id = '', text] = shared?.split(' ') ?? []
      const startedAt_ms = lease.tickedBefore(shared)
      // A count above the server's own was drawn before a flush.
      const isFresh = startedAt_ms > after_ms && Number(drawn) < count
      if (isFresh && text && isCurrent(text)) return { text, startedAt_ms }
      if (id !== awaitedId) waitUntil_ms = Math.min(performance.now() + WAIT_MAX_MS, end_ms)
      awaitedId = id
      const isWaiting = isFresh && !text && performance.now() < waitUntil_ms
      const next = `${runId} ${count} ${randomUUID()}`
      if (isWaiting) await sleep(WAIT_MS)
      else if (!runId) break
      else if (await put(shared ? `${from} ${drawn} ${id}` : '', next)) claim = next
      else if (performance.now() > end_ms) break
    }
    const startedAt_ms = monotonic()
    const text = await create()
    // Without a text, another process tries at once.
    if (claim) void put(claim, text ? `${claim} ${text}` : '')
    return { text, startedAt_ms }
  }
