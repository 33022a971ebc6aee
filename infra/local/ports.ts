import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { errorCode, Failure } from './failure.ts'

/**
 * Below the ports that systems give to outgoing connections (Linux: from 32,768), so none of those takes a port
 * between the check and its use.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 31_999
const TRIES = 50
const STARTS = 3

/** A TCP port on loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    const free = await probe(port).catch(() => undefined)
    if (free !== undefined) return free
  }
  return probe(0)
}

/**
 * Starts a server on a free port. Another program may take that between finding and using it; then the next is tried.
 * @param start throws a Failure with the server's words when it cannot listen.
 */
export async function onFreePort<T>(
  start: (port: number) => Promise<T>,
  find: () => Promise<number> = freePort,
): Promise<T> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start(await find())
    } catch (error) {
      const taken = error instanceof Failure && /address already in use/i.test(error.message)
      if (!taken || starts === STARTS) throw error
    }
  }
}

/** @throws Failure naming `variable` when the port is in use or reserved. */
export async function requireFreePort(port: number, variable: string): Promise<void> {
  try {
    await probe(port)
    await probe(port, '::1').catch((error) => {
      if (!NO_IPV6.has(errorCode(error) ?? '')) throw error
    })
  } catch (error) {
    const elsewhere = `set ${variable} to another port`
    if (errorCode(error) === 'EADDRINUSE')
      throw new Failure(`Port ${port} is in use: stop the program that uses it, or ${elsewhere}.`)
    if (errorCode(error) === 'EACCES')
      throw new Failure(`Port ${port} is reserved for the system's own services: ${elsewhere}.`)
    throw error
  }
}

/** The codes with which listening on ::1 fails where there is no IPv6. */
export const NO_IPV6: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

async function probe(port: number, host = '127.0.0.1'): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const address = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return address.port
}
