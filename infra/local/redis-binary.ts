import { type DebianProgram, debianProgram, type Executable } from './debian-program.ts'

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
    `No Redis server of version ${OLDEST_MAJOR} or newer was found on the PATH, and none could be fetched (${why}): install redis-server or valkey-server, or set REDIS_URL to a server that runs.`,
}

let found: Promise<Executable> | undefined

/**
 * Finds a Redis server to run, once per process.
 * @throws Failure that says what to do if there is none.
 */
export function redisServer(say?: (line: string) => void): Promise<Executable> {
  found ??= debianProgram(REDIS, say)
  return found
}
