import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { within } from '#shared/process/within.ts'
import { Redis } from '#shared/stores/redis.ts'
import { REDIS_USER_RULES } from '../database/redis-users.ts'
import type { ShowProgress } from '../progress.ts'
import { type Child, chownToNobody, lastLines, startStore } from './child.ts'
import { type DebianProgram, debianProgram, type Executable } from './debian-program.ts'
import { StartError } from './start-error.ts'

const START_DEADLINE_MS = 30_000
const STOP_DEADLINE_MS = 5_000
const ANSWER_POLL_MS = 25

export interface LocalRedis {
  port: number
  /** Resolves when the server has exited, with the reason and its last output. */
  ended: Promise<string>
  /** Returns a user's URL for this server. The services are `auth` and `api`; `admin` may do everything. */
  url(user: RedisUser): string
  /** SIGTERM saves the data first; SIGKILL does not. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export type RedisUser = 'admin' | 'auth' | 'api'

interface LocalRedisOptions {
  directory: string
  port: number
  passwords: Record<RedisUser, string>
  /** Default: the one that redisServer finds. */
  server?: Executable
  /** How long it may take to answer. */
  deadline_ms?: number
}

/**
 * Starts a Redis server on loopback with a password for every user.
 * @throws StartError with the server's last output if it does not start.
 */
export async function startRedis(options: LocalRedisOptions): Promise<LocalRedis> {
  const { directory, port, passwords, server = await redisServer(), deadline_ms } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const file = join(directory, CONFIGURATION_FILE)
  await writeFile(file, configuration(options), { mode: 0o600 })
  await chownToNobody(directory, file)
  const { command, env } = server
  const child = await startStore([command, file], { signal: 'TERM', needed: [command, directory], env })
  const url = (user: RedisUser) => redisUrl({ user, password: passwords[user], port })
  try {
    await waitForAnswer(url('admin'), child, deadline_ms)
  } catch (error) {
    await child.stop('SIGKILL')
    throw error
  }
  return {
    port,
    url,
    ended: child.ended.then((how) => `${how}: ${lastLines(child, 3)}`),
    stop: (signal) => child.stop(signal, STOP_DEADLINE_MS),
  }
}

export const CONFIGURATION_FILE = 'redis.conf'

export const redisUrl = (server: { user: RedisUser; password: string; port: number }): string =>
  `redis://${server.user}:${encodeURIComponent(server.password)}@127.0.0.1:${server.port}`

/** The file has only the SHA-256 of the users' passwords. */
function configuration({ directory, port, passwords }: LocalRedisOptions): string {
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir "${directory.replace(/["\\]/g, '\\$&')}"`,
    'daemonize no',
    'maxmemory-policy noeviction',
    'appendonly no',
    'save 60 1',
    'user default off resetpass',
    `user admin on #${sha256(passwords.admin)} ~* &* +@all`,
    `user auth on #${sha256(passwords.auth)} ${REDIS_USER_RULES.auth}`,
    `user api on #${sha256(passwords.api)} ${REDIS_USER_RULES.api}`,
  ]
  return `${lines.join('\n')}\n`
}

async function waitForAnswer(url: string, child: Child, deadline_ms = START_DEADLINE_MS): Promise<void> {
  const redis = new Redis(url, {
    retryStrategy: () => ANSWER_POLL_MS,
    maxRetriesPerRequest: null,
    connectTimeout: 1_000,
  })
  let reason = 'no connection'
  const fail = (error: Error): boolean => {
    reason = error.message
    return false
  }
  redis.on('error', fail)
  // Disconnected between two attempts, ioredis leaves a command unsettled. So nothing awaits one alone.
  const ping = redis.ping().then(() => true, fail)
  const answered = await within(deadline_ms, Promise.race([ping, child.ended.then(() => false)]))
  redis.disconnect()
  if (child.end() !== undefined) throw new StartError(`Redis did not start: ${lastLines(child, 3)}`)
  if (!answered)
    throw new StartError(`Redis did not answer: ${reason}; its last words: ${lastLines(child, 3)}`)
}

/** The first version with selectors in access rules. Valkey's version numbers continue from there. */
const OLDEST_MAJOR = 7

export const REDIS: DebianProgram = {
  title: 'Redis',
  names: ['redis-server', 'valkey-server'],
  package: 'redis-server',
  // redis-server is a link to redis-check-rdb, which is in the other package.
  linksTo: ['redis-tools'],
  isUsable: (version) => Number(/\bv=(\d+)\./.exec(version)?.[1]) >= OLDEST_MAJOR,
  missing: (why) =>
    `No Redis server of version ${OLDEST_MAJOR} or newer was found on the PATH, ` +
    `and none could be fetched (${why}): install redis-server or valkey-server, ` +
    'or set REDIS_URL to a server that runs.',
}

let executable: Promise<Executable> | undefined

/**
 * Finds a Redis server to run, once per process.
 * @throws StartError that says what to do if there is none.
 */
export function redisServer(show?: ShowProgress): Promise<Executable> {
  executable ??= debianProgram(REDIS, show)
  return executable
}
