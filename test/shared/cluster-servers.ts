import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { REDIS_USER_RULES } from '../../infra/database/redis-users.ts'
import { redisServer } from '../../infra/local/redis.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/ports.ts'

const SLOTS = 16_384
const NODE_TIMEOUT_MS = 500

export type ClusterServer = Awaited<ReturnType<typeof startClusterServer>>

/** One server with the users of the services, whose password is their name. `lines`: of its configuration. */
export async function startClusterServer(parent: string, lines: string[] = []) {
  const [port, busPort] = [await freePort(), await freePort()]
  const directory = join(parent, `${port}`)
  await mkdir(directory)
  const file = join(directory, 'redis.conf')
  const configuration = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${directory}`,
    'save ""',
    'cluster-enabled yes',
    `cluster-port ${busPort}`,
    `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
    'user default off',
    'user admin on >admin ~* &* +@all',
    ...Object.entries(REDIS_USER_RULES).map(([name, rules]) => `user ${name} on >${name} ${rules}`),
    ...lines,
  ]
  await writeFile(file, configuration.join('\n'))
  const { command, env } = await redisServer()
  const server = spawn(command, [file], { env: { ...process.env, ...env }, stdio: 'ignore' })
  const admin = new Redis(`redis://admin:admin@127.0.0.1:${port}`)
  admin.on('error', () => {})
  await eventually(() => admin.ping().catch(() => false))
  return {
    port,
    busPort,
    admin,
    signal: (signal: NodeJS.Signals) => server.kill(signal),
    async [Symbol.asyncDispose]() {
      admin.disconnect()
      if (server.exitCode !== null || server.signalCode !== null) return
      server.kill('SIGKILL')
      await once(server, 'exit')
    },
  }
}

/** A cluster of three servers. */
export async function createRedisCluster(parent: string) {
  const servers = await Promise.all([0, 1, 2].map(() => startClusterServer(parent)))
  const [first, second, third] = servers as [ClusterServer, ClusterServer, ClusterServer]
  for (const [n, { admin, port, busPort }] of servers.entries()) {
    const [from = 0, to = 0] = [n, n + 1].map((part) => Math.ceil((part * SLOTS) / servers.length))
    await admin.cluster('ADDSLOTSRANGE', from, to - 1)
    await admin.cluster('SET-CONFIG-EPOCH', n + 1)
    if (n > 0) await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  }
  await eventually(async () => {
    const states = await Promise.all(servers.map(({ admin }) => admin.cluster('INFO')))
    return states.every((state) => String(state).includes('cluster_state:ok'))
  })
  return {
    first,
    second,
    third,
    url: (user: 'auth' | 'api' | 'admin') =>
      `redis+cluster://${user}:${user}@${servers.map(({ port }) => `127.0.0.1:${port}`).join()}`,
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    },
  }
}
