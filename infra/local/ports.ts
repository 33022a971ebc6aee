import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { errorCode, StartError } from './start-error.ts'

/**
 * Below the ephemeral ports (32,768 and above on Linux), so that no outgoing connection takes a port between
 * its check and its use.
 */
const FIRST_PORT = 20_000
const LAST_PORT = 31_999
const TRIES = 50
const STARTS = 3

/** Returns a TCP port on loopback that was just free. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1)
    if (await probe(port).catch(() => undefined)) return port
  }
  return probe(0)
}

/**
 * Starts a server on a free port. If another program takes the port first, the next one is tried.
 * @param start throws a StartError with the server's output if it cannot listen.
 */
export async function onFreePort<T>(
  start: (port: number) => Promise<T>,
  find: () => Promise<number> = freePort,
): Promise<T> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await start(await find())
    } catch (error) {
      const isTaken = error instanceof StartError && /address already in use/i.test(error.message)
      if (!isTaken || starts === STARTS) throw error
    }
  }
}

/** @throws StartError that names `variable` if the port is in use or reserved. */
export async function requireFreePort(port: number, variable: string): Promise<void> {
  try {
    await probe(port)
    await probe(port, '::1').catch((error) => {
      if (!NO_IPV6.has(errorCode(error) ?? '')) throw error
    })
  } catch (error) {
    const elsewhere = `set ${variable} to another port`
    if (errorCode(error) === 'EADDRINUSE')
      throw new StartError(`Port ${port} is in use: stop the program that uses it, or ${elsewhere}.`)
    if (errorCode(error) === 'EACCES')
      throw new StartError(`Port ${port} is reserved for the system's own services: ${elsewhere}.`)
    throw error
  }
}

/** The error codes of listening on ::1 without IPv6. */
export const NO_IPV6: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

/** Listens for a moment, on any port if it is 0. Returns the port. @throws the system's error. */
export async function probe(port: number, host = '127.0.0.1'): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  const address = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return address.port
}
