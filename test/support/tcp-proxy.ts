import { once } from 'node:events'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

export type TcpProxy = Awaited<ReturnType<typeof createTcpProxy>>

type State = 'open' | 'cut' | 'stalled'

/** The network between a client and a server on loopback, which can fail in the ways that networks do. */
export async function createTcpProxy(...targets: number[]) {
  const sockets = new Set<Socket>()
  let ports = targets
  let connections = 0
  let state: State = 'open'
  let delay_ms = 0
  const server = createServer({ pauseOnConnect: true }, (near) => {
    if (state === 'cut' || ports.length === 0) return near.resetAndDestroy()
    const far = dial({ port: ports[connections++ % ports.length] as number, host: '127.0.0.1' })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      // Whichever timer fires, the oldest chunk goes first.
      const late: Buffer[] = []
      const sendOldest = () => {
        const chunk = late.shift()
        if (chunk && to.writable) to.write(chunk)
      }
      from.on('data', (chunk) => {
        late.push(chunk)
        if (delay_ms === 0 && late.length === 1) sendOldest()
        else setTimeout(sendOldest, delay_ms)
      })
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    if (state === 'stalled') for (const socket of [near, far]) socket.pause()
    else near.resume()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  async function close() {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    port: (server.address() as AddressInfo).port,
    /** Ends every connection and refuses new ones. */
    cut() {
      state = 'cut'
      for (const socket of sockets) socket.destroy()
    },
    /** Keeps every connection, also new ones, and lets nothing through in either direction. */
    stall() {
      state = 'stalled'
      for (const socket of sockets) socket.pause()
    },
    /** Lets everything through at once; what a stall held back arrives now. */
    heal() {
      state = 'open'
      delay_ms = 0
      for (const socket of sockets) socket.resume()
    },
    /** Ends every connection with a TCP reset; new ones are taken. */
    reset() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    /** Lets everything through this much later in each direction, in order. */
    delay(duration_ms: number) {
      delay_ms = duration_ms
    },
    /** Ends every connection, as a fail-over does, and leads new ones to one port, or several in turn. */
    lead(...to: number[]) {
      ports = to
      for (const socket of sockets) socket.destroy()
    },
    /** Leads new connections to another port and keeps the others, as a name that moves does. */
    move(to: number) {
      ports = [to]
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
