import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { listen } from '#shared/process/http-server.ts'

/** Below the ports that the local stack chooses for its stores, and those of outgoing connections. */
const FIRST_PORT = 12_000
const PORTS_PER_BLOCK = 100
const BLOCKS = 80

let block: Promise<number> | undefined
let handedOut = 0

/** A free TCP port on loopback that no other process of the tests is given: each holds a block of ports. */
export async function freePort(): Promise<number> {
  block ??= claimBlock()
  const first = await block
  for (;;) {
    const port = first + 1 + (handedOut++ % (PORTS_PER_BLOCK - 1))
    const server = await listening(port)
    if (!server) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** Free ports for all that a local stack listens on, by the names of its settings. */
export async function stackPorts() {
  const names = ['PORT', 'AUTH_PORT', 'API_PORT', 'AUTH_METRICS_PORT', 'API_METRICS_PORT'] as const
  const ports = await Promise.all(names.map(async (name) => [name, String(await freePort())]))
  return Object.fromEntries(ports) as Record<(typeof names)[number], string>
}

async function claimBlock(): Promise<number> {
  for (;;) {
    const first = FIRST_PORT + PORTS_PER_BLOCK * randomInt(BLOCKS)
    const holder = await listening(first)
    holder?.unref()
    if (holder) return first
  }
}

/** Resolves with undefined if the port is taken. */
function listening(port: number): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}

export async function withTakenPort(use: (port: number) => Promise<void>, host = '127.0.0.1'): Promise<void> {
  const holder = createServer()
  await use(await listen(holder as never, { host, port: 0 })).finally(() => holder.close())
}
