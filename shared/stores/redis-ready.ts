import { within } from '#shared/process/within.ts'
import type { RedisOrCluster } from './redis.ts'

/** Resolves when the connection takes commands. @throws Error that says why not, after `timeout_ms`. */
export async function redisReady(redis: RedisOrCluster, timeout_ms = 10_000): Promise<void> {
  if (redis.status === 'ready') return
  let reason = ''
  const keep = ({ message }: Error): void => {
    reason ||= `: ${message}`
  }
  redis.on('error', keep)
  const ready = new Promise((resolve) => redis.once('ready', () => resolve(true)))
  const isReady = await within(timeout_ms, ready)
  redis.off('error', keep)
  if (!isReady) throw new Error(`Redis did not become ready${reason}`)
}
