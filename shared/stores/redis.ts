import { Redis } from 'ioredis'

export type { Redis }

/** A command that takes longer counts as failed, so that a slow Redis cannot make a request slow. */
const COMMAND_TIMEOUT_MS = 250
const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_MAX_MS = 500
/** A connection that owes answers and brings none for this long is given up: its host may have vanished. */
const SILENCE_MAX_MS = 2_000

/**
 * A connection that never queues and never resends: a command is written at once on a ready connection or
 * rejects. So an answer always comes from the server that was asked, at the time it was asked.
 * `redis+sentinel://user:password@host:26379,host2:26379/name` names a Sentinel group; its primary is used.
 */
export function createRedis({ url, connectionName }: { url: string; connectionName: string }): Redis {
  const options = {
    connectionName,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MAX_MS,
    disableClientInfo: true,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, RECONNECT_MAX_MS),
  }
  const redis = url.startsWith('redis+sentinel:')
    ? new Redis({ ...options, ...sentinelOptions(url) })
    : new Redis(url, options)
  // Every command's own promise reports a failure; without a listener ioredis prints each lost connection.
  redis.on('error', () => {})
  return redis
}

function sentinelOptions(text: string) {
  const match = /^redis\+sentinel:\/\/(?:([^:@/]*):([^@/]*)@)?([^/]+)\/(.+)$/.exec(text)
  if (!match) throw new Error('a redis+sentinel URL is redis+sentinel://[user:password@]host:port,…/name')
  const [, username, password, hosts = '', name = ''] = match
  const sentinels = hosts.split(',').map((host) => {
    const [address = '', port = '26379'] = host.split(':')
    return { host: address, port: Number(port) }
  })
  const credentials = password
    ? { username: decodeURIComponent(username || 'default'), password: decodeURIComponent(password) }
    : {}
  return { sentinels, name, role: 'master' as const, ...credentials }
}
