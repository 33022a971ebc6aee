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
    'repl-diskless-sync-delay 0',
    'masteruser admin',
    'masterauth admin',
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
    id: (await admin.cluster('MYID')) as string,
    signal: (signal: NodeJS.Signals) => server.kill(signal),
    async [Symbol.asyncDispose]() {
      admin.disconnect()
      if (server.exitCode !== null || server.signalCode !== null) return
      server.kill('SIGKILL')
      await once(server, 'exit')
    },
  }
}

/** A cluster of three servers, and a replica of the first. */
export async function createRedisCluster(parent: string) {
  const start = () => startClusterServer(parent)
  const servers = await Promise.all([start(), start(), start(), start()])
  const [first, second, third, replica] = servers
  const primaries = [first, second, third]
  for (const [n, { admin }] of primaries.entries()) {
    const startOf = (part: number) => Math.ceil((part * SLOTS) / primaries.length)
    await admin.cluster('ADDSLOTSRANGE', startOf(n), startOf(n + 1) - 1)
    await admin.cluster('SET-CONFIG-EPOCH', n + 1)
  }
  for (const { port, busPort } of servers.slice(1))
    await first.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  await eventually(() => replica.admin.cluster('REPLICATE', first.id).catch(() => false))
  await eventually(async () => {
    const states = await Promise.all(servers.map(({ admin }) => admin.cluster('INFO')))
    const nodes = await replica.admin.cluster('NODES')
    const link = await replica.admin.info('replication')
    return (
      states.every((state) => String(state).includes('cluster_state:ok')) &&
      String(nodes).trim().split('\n').length === servers.length &&
      link.includes('master_link_status:up')
    )
  })
  return {
    first,
    second,
    third,
    replica,
    url: (user: 'auth' | 'api' | 'admin') =>
      `redis+cluster://${user}:${user}@${primaries.map(({ port }) => `127.0.0.1:${port}`).join()}`,
    /** Moves a slot with its keys from the first server to the second. `during`: called half way. */
    async moveSlot(slot: number, during: () => Promise<void>): Promise<void> {
      await second.admin.cluster('SETSLOT', slot, 'IMPORTING', first.id)
      await first.admin.cluster('SETSLOT', slot, 'MIGRATING', second.id)
      const keys = (await first.admin.cluster('GETKEYSINSLOT', slot, 100)) as string[]
      const auth = ['AUTH2', 'admin', 'admin']
      await first.admin.call('MIGRATE', '127.0.0.1', second.port, '', 0, 5_000, ...auth, 'KEYS', ...keys)
      await during()
      for (const { admin } of [second, first]) await admin.cluster('SETSLOT', slot, 'NODE', second.id)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    },
  }
}
