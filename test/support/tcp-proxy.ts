import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

/** A stretch of network between a client and a server on loopback, which can fail in the ways that networks do. */
export interface TcpProxy {
  readonly port: number
  /** Ends every connection and refuses new ones. */
  cut(): void
  /** Keeps every connection, also new ones, and lets nothing through in either direction. */
  stall(): void
  /** Lets everything through; what a stall held back arrives now. */
  heal(): void
  /** Leads new connections to another port. */
  lead(port: number): void
  close(): Promise<void>
}

type State = 'open' | 'cut' | 'stalled'

export async function createTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let port = target
  let state: State = 'open'
  const server = createServer({ pauseOnConnect: true }, (near) => {
    if (state === 'cut') return near.resetAndDestroy()
    const far = dial({ port, host: '127.0.0.1' })
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
      from.setNoDelay(true)
      from.on('data', (chunk) => to.write(chunk))
      from.on('error', () => {})
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    if (state === 'stalled') for (const socket of pair) socket.pause()
    else near.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const listening = (server.address() as AddressInfo).port
  const each = (act: (socket: Socket) => void) => {
    for (const pair of pairs) for (const socket of pair) act(socket)
  }
  return {
    port: listening,
    cut() {
      state = 'cut'
      each((socket) => socket.destroy())
    },
    stall() {
      state = 'stalled'
      each((socket) => socket.pause())
    },
    heal() {
      state = 'open'
      each((socket) => socket.resume())
    },
    lead(to) {
      port = to
    },
    async close() {
      each((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
