import type { Redis } from '#shared/stores/redis.ts'
import { redisKeys } from '#shared/stores/redis-keys.ts'
import { TICK } from './redis.ts'
import type { Timings } from './timings.ts'

export type Lease = ReturnType<typeof createLease>

/**
 * For how long this process may believe what the Redis server behind its connection says.
 *
 * Redis lets a marker expire by its wall clock, which may be set back or stand still with a suspended
 * machine. So its age must not depend on that clock: every process advances a counter in Redis about once a
 * second and notes when it sent the command. A marker carries the count at which its round began, so a marker
 * with at least the count of a tick began after that tick was sent. It is believed for `lease_ms` from then,
 * by this process's clock.
 *
 * The run_id is learned on the same connection that it is compared on, and forgotten when that closes.
 */
export function createLease(parts: {
  redis: Redis
  timings: Timings
  monotonic: () => number
  /** Called after each tick, with the error if it failed. */
  onTick: (error?: Error) => void
}) {
  const { redis, timings, monotonic, onTick } = parts
  const ticksKept = Math.ceil(timings.lease_ms / timings.tick_ms) + 1
  let connection = 0
  let isUsable = false
  let serverRunId: string | undefined
  /** As of the latest tick. */
  let marker: string | null = null
  /** Newest first. */
  let ticks: Record<'count' | 'sentAt_ms', number>[] = []

  function forget(): void {
    connection += 1
    isUsable = false
    serverRunId = undefined
    ticks = []
  }

  async function tick(): Promise<void> {
    if (redis.status !== 'ready') return
    const sentOn = connection
    const sentAt_ms = monotonic()
    try {
      const reply = await redis.eval(TICK, 0, redisKeys.revocationTick, redisKeys.revocationMarker)
      const [runId, count, current = null] = reply as [string, number, (string | null)?]
      if (sentOn === connection) {
        // A count that went back means a flush: earlier counts say nothing about now.
        if (runId !== serverRunId || count <= (ticks[0]?.count ?? 0)) forget()
        serverRunId = runId
        marker = current
        ticks = [{ count, sentAt_ms }, ...ticks.slice(0, ticksKept - 1)]
        isUsable = true
      }
      onTick()
    } catch (error) {
      if (sentOn === connection) isUsable = false
      onTick(error as Error)
    }
  }

  function tickedBefore(marker: string | null): number {
    const [runId, count] = marker?.split(' ', 2) ?? []
    const earlier = runId === serverRunId && ticks.find((tick) => tick.count <= Number(count))
    return earlier ? earlier.sentAt_ms : Number.NEGATIVE_INFINITY
  }

  const isMarkerValid = (marker: string | null, sentAt_ms: number): boolean =>
    sentAt_ms < tickedBefore(marker) + timings.lease_ms

  redis.on('close', forget)
  redis.on('ready', () => {
    forget()
    void tick()
  })
  const timer = setInterval(() => void tick(), timings.tick_ms).unref()
  redis.once('end', () => clearInterval(timer))
  void tick()

  return {
    /** False until the server is known, and after a failure until it answers. Do not wait for it then. */
    isUsable: () => isUsable,
    /** Returns the run_id of the server behind the connection, if known. */
    serverRunId: () => serverRunId,
    /** Returns when the last tick was sent that this marker or page began after; -Infinity if none was. */
    tickedBefore,
    /** Whether what was read with this marker, by a command sent at `sentAt_ms`, holds every revocation. */
    isMarkerValid,
    /** Whether Redis could answer now, by the marker of the latest tick. */
    isTrusted: () => isUsable && isMarkerValid(marker, monotonic()),
    /** Takes note that a command failed: the next tick decides whether the server is usable. */
    suspect(): void {
      isUsable = false
    },
  }
}
