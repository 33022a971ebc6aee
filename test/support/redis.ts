import { Redis } from 'ioredis'
import { createRedis, type RedisParts } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'

const READY_MAX_MS = 60_000

/**
 * A connection, ready, for what a test itself does in Redis. Like a service's own it never queues a command,
 * but it waits for the answer: a service gives a command up after 250 ms, which a busy machine may take.
 */
export async function connectedRedis(url: string): Promise<Redis & Disposable> {
  const redis = new Redis(url, {
    connectionName: 'test',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disableClientInfo: true,
  })
  redis.on('error', () => {})
  await redisReady(redis, READY_MAX_MS)
  return closedAfterUse(redis)
}

/** A connection as a service has it, ready or not, which ends with the block that is `using` it. */
export const serviceRedis = (url: string, options: Partial<RedisParts> = {}) =>
  closedAfterUse(createRedis({ url, connectionName: 'test', ...options }))

const closedAfterUse = (redis: Redis): Redis & Disposable =>
  Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() })
