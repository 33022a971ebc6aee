import type { Redis } from './redis.ts'

/** Resolves when the connection can take commands. @throws Error when it cannot within `timeout_ms`. */
export async function redisReady(redis: Redis, timeout_ms = 10_000): Promise<void> {
  if (redis.status === 'ready') return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Redis did not become ready')), timeout_ms)
    redis.once('ready', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
