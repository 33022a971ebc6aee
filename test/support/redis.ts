import { Redis } from 'ioredis'
import { createRedis, type RedisParts } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'

const READY_MAX_MS = 60_000

/** A ready connection. Like a service's it queues no command; unlike one, it waits more than 250 ms. */
export async function connectedRedis(url: string): Promise<Redis & Disposable> {
  const redis = new Redis(url, {
    connectionName: 'test',
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
