import '#shared/process/environment.ts'
import { Cluster, Redis } from 'ioredis'
import { withoutFurtherHosts } from '#shared/process/config.ts'

export { Redis }
export type RedisOrCluster = Redis | Cluster

/** A command that takes longer counts as failed, so that a slow Redis cannot make a request slow. */
const COMMAND_TIMEOUT_MS = 250
const CONNECT_TIMEOUT_MS = 2_000
const RECONNECT_MAX_MS = 500
/** A connection that owes answers and brings none for this long is given up: its host may have vanished. */
const SILENCE_MAX_MS = 2_000
/** Until the address leads to the primary, a new connection reaches the replica: no more often than this. */
const REPLICA_MAX_MS = 1_000
const SENTINEL_PORT = 26_379

export type RedisParts = { url: string; connectionName: string; commandTimeout_ms?: number | undefined }

const connectionOptions = ({ connectionName, commandTimeout_ms }: Omit<RedisParts, 'url'>) => ({
  connectionName,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  commandTimeout: commandTimeout_ms ?? COMMAND_TIMEOUT_MS,
  connectTimeout: CONNECT_TIMEOUT_MS,
  socketTimeout: Math.max(SILENCE_MAX_MS, commandTimeout_ms ?? 0),
  disableClientInfo: true,
  maxLoadingRetryTime: RECONNECT_MAX_MS,
  retryStrategy: (attempt: number) => Math.min(attempt * 50, RECONNECT_MAX_MS),
})

/**
 * A connection that never queues and never resends: a command is written at once on a ready connection or
 * rejects. So an answer always comes from the server that got the command, at the time it was sent.
 * `redis+sentinel://user:password@host:26379,host2:26379/name` names a Sentinel group; its primary is used.
 * Sentinels with credentials of their own get `?sentinel_user=…&sentinel_password=…`, percent-encoded.
 * `rediss` means TLS, to the sentinels as well. A sentinel that connects and says nothing is left.
 */
export function createRedis({ url, ...parts }: RedisParts): Redis {
  let readyAt_ms = 0
  const options = {
    ...connectionOptions(parts),
    // A primary may become a replica without closing its connections, and another server take its address.
    reconnectOnError: ({ message }: Error) => {
      if (!message.startsWith('READONLY') || performance.now() <= readyAt_ms + REPLICA_MAX_MS) return false
      // ioredis would close it again for each other command that is refused.
      readyAt_ms = Number.POSITIVE_INFINITY
      return true
    },
  }
  const redis = url.includes('+sentinel:')
    ? new Redis({ ...options, ...sentinelOptions(url), sentinelCommandTimeout: CONNECT_TIMEOUT_MS })
    : new Redis(url, options)
  // Every command's own promise reports a failure; without a listener ioredis prints each lost connection.
  redis.on('error', () => {})
  redis.on('ready', () => {
    readyAt_ms = performance.now()
  })
  return redis
}

/**
 * The same, and `redis+cluster://user:password@host:6379,host2:6379` names servers of a Redis Cluster. There,
 * a command is sent to another server only if the first one refused it.
 */
export function createRedisOrCluster({ url, ...parts }: RedisParts): RedisOrCluster {
  if (!url.includes('+cluster:')) return createRedis({ url, ...parts })
  const { servers, login, tls } = readGroupUrl(url)
  const redisOptions = { ...connectionOptions(parts), ...login, ...tls }
  const cluster = new Cluster(servers, {
    redisOptions,
    clusterRetryStrategy: redisOptions.retryStrategy,
    enableOfflineQueue: false,
    // It would report nothing, and a server that is still connecting fails it.
    enableReadyCheck: false,
    maxRedirections: 3,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // A certificate has the name of its server, not the address.
    dnsLookup: (host, found) => found(null, host),
  })
  // A connection says why it fails, which no command does.
  cluster.on('+node', (node: Redis) => node.options.readOnly || node.connect().catch(() => {}))
  cluster.on('node error', (error: Error) => cluster.emit('error', error))
  return cluster.on('error', () => {})
}

function readGroupUrl(text: string, defaultPort = 6_379) {
  const url = new URL(withoutFurtherHosts(text))
  const [authority = ''] = text.slice(text.indexOf('://') + 3).split(/[/?]/)
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  const servers = hosts.split(',').map((host) => {
    const { hostname, port } = new URL(`redis://${host}`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || defaultPort) }
  })
  const [username, password] = [url.username || 'default', url.password].map(decodeURIComponent)
  const login = password && { username, password }
  return { url, servers, login, tls: url.protocol.startsWith('rediss') && { tls: {} } }
}

function sentinelOptions(text: string) {
  const { url, servers, login, tls } = readGroupUrl(text, SENTINEL_PORT)
  const password = url.searchParams.get('sentinel_password')
  return {
    sentinels: servers,
    name: url.pathname.slice(1),
    role: 'master' as const,
    ...login,
    ...(password !== null && {
      sentinelUsername: url.searchParams.get('sentinel_user') ?? 'default',
      sentinelPassword: password,
    }),
    ...(tls && { ...tls, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  }
}
