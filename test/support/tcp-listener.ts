import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { through } from './revocation.ts'

/** A server that accepts connections and then does `then`. `leadHere` leads a URL there. */
export async function listener(then: (socket: Socket) => void) {
  const server = createServer((socket) => then(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = (server.address() as AddressInfo).port
  const leadHere = (url = 'postgres://user:password@127.0.0.1/db') => through(url, { port })
  return { leadHere, [Symbol.asyncDispose]: async () => void server.close() }
}
