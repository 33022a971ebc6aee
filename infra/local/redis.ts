import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { REDIS_USER_RULES } from '../redis-users.ts'
import { startChild } from './child.ts'
import { redisServer } from './redis-binary.ts'

const START_DEADLINE_MS = 10_000

export interface LocalRedis {
  port: number
  /** The URL of a user of this server: `auth` and `api` are the services' own, `admin` may do everything. */
  url(user: RedisUser): string
  /** SIGTERM saves the data first; SIGKILL does not. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export type RedisUser = 'admin' | 'auth' | 'api'

export interface LocalRedisOptions {
  directory: string
  port: number
  passwords: Record<RedisUser, string>
}

/**
 * Starts a Redis server on loopback with a password for every user.
 * @throws Error with the server's last words when it does not come up.
 */
export async function startRedis({ directory, port, passwords }: LocalRedisOptions): Promise<LocalRedis> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const configuration = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir "${directory}"`,
    'maxmemory-policy noeviction',
    'appendonly no',
    'save 60 1',
    'user default off resetpass',
    `user admin on #${sha256(passwords.admin)} ~* &* +@all`,
    `user auth on #${sha256(passwords.auth)} ${REDIS_USER_RULES.auth}`,
    `user api on #${sha256(passwords.api)} ${REDIS_USER_RULES.api}`,
  ]
  const file = join(directory, 'redis.conf')
  await writeFile(file, `${configuration.join('\n')}\n`, { mode: 0o600 })
  const server = await redisServer()
  const child = startChild(server.command, [file], { env: { ...process.env, ...server.env } })
  const url = (user: RedisUser) => `redis://${user}:${encodeURIComponent(passwords[user])}@127.0.0.1:${port}`
  await answers(url('admin'), () => {
    if (child.process.exitCode !== null) throw new Error(`Redis did not start: ${child.output()}`)
  })
  return { port, url, stop: (signal) => child.stop(signal) }
}

async function answers(url: string, check: () => void): Promise<void> {
  const redis = new Redis(url, { retryStrategy: () => 25, maxRetriesPerRequest: null, connectTimeout: 1_000 })
  redis.on('error', () => {})
  const deadline = Date.now() + START_DEADLINE_MS
  const timer = setInterval(() => {
    try {
      check()
      if (Date.now() > deadline) throw new Error('Redis did not answer')
    } catch {
      redis.disconnect()
    }
  }, 25)
  try {
    await redis.ping()
  } catch (error) {
    check()
    throw new Error('Redis did not answer', { cause: error })
  } finally {
    clearInterval(timer)
    redis.disconnect()
  }
}
