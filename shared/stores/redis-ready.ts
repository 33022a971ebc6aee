import { within } from '#shared/process/within.ts'
import type { Redis } from './redis.ts'

/** Resolves when the connection can take commands. @throws Error when it cannot within `timeout_ms`. */
export async function redisReady(redis: Redis, timeout_ms = 10_000): Promise<void> {
  if (redis.status === 'ready') return
  const ready = new Promise((resolve) => redis.once('ready', () => resolve(true)))
  if (!(await within(timeout_ms, ready))) throw new Error('Redis did not become ready')
}
