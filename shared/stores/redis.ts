import { Redis } from 'ioredis'

export type { Redis }

/** A command that takes longer counts as failed, so that a slow Redis cannot make a request slow. */
const COMMAND_TIMEOUT_MS = 250
const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_MAX_MS = 500
/** A connection that owes answers and brings none for this long is given up: its host may have vanished. */
const SILENCE_MAX_MS = 2_000
/** Until the address leads to the primary, a new connection reaches the replica: no more often than this. */
const REPLICA_MAX_MS = 1_000
const SENTINEL_PORT = 26_379

/**
 * A connection that never queues and never resends: a command is written at once on a ready connection or
 * rejects. So an answer always comes from the server that got the command, at the time it was sent.
 * `redis+sentinel://user:password@host:26379,host2:26379/name` names a Sentinel group; its primary is used.
 * Sentinels with credentials of their own get `?sentinel_user=…&sentinel_password=…`, percent-encoded.
 * `rediss` means TLS, to the sentinels as well.
 */
export function createRedis({ url, connectionName }: { url: string; connectionName: string }): Redis {
  let readyAt_ms = 0
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
    maxLoadingRetryTime: RECONNECT_MAX_MS,
    // A primary may become a replica without closing its connections, and another server take its address.
    reconnectOnError: ({ message }: Error) =>
      message.startsWith('READONLY') && performance.now() > readyAt_ms + REPLICA_MAX_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 50, RECONNECT_MAX_MS),
  }
  const redis = /^rediss?\+sentinel:/.test(url)
    ? new Redis({ ...options, ...sentinelOptions(url) })
    : new Redis(url, options)
  // Every command's own promise reports a failure; without a listener ioredis prints each lost connection.
  redis.on('error', () => {})
  redis.on('ready', () => {
    readyAt_ms = performance.now()
  })
  return redis
}

const SENTINEL_URL =
  /^(?<scheme>rediss?)\+sentinel:\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/@]+)\/(?<name>[^/?]+)(?:\?(?<query>.*))?$/

function sentinelOptions(text: string) {
  const { scheme, user, password, hosts = '', name = '', query } = SENTINEL_URL.exec(text)?.groups ?? {}
  if (!name) throw new Error('a Sentinel URL is redis[s]+sentinel://[user:password@]host:port,…/name')
  const sentinels = hosts.split(',').map((host) => {
    const { hostname, port } = new URL(`redis://${host}`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || SENTINEL_PORT) }
  })
  const parameters = new URLSearchParams(query)
  return {
    sentinels,
    name,
    role: 'master' as const,
    ...(password && {
      username: decodeURIComponent(user || 'default'),
      password: decodeURIComponent(password),
    }),
    ...(parameters.has('sentinel_password') && {
      sentinelUsername: parameters.get('sentinel_user') ?? 'default',
      sentinelPassword: parameters.get('sentinel_password') ?? '',
    }),
    ...(scheme === 'rediss' && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }
}
