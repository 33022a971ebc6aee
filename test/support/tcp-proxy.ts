import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

export type TcpProxy = Awaited<ReturnType<typeof createTcpProxy>>

type State = 'open' | 'cut' | 'stalled'

/** A stretch of network between a client and a server on loopback, which can fail in the ways that networks do. */
export async function createTcpProxy(...targets: number[]) {
  const pairs = new Set<[Socket, Socket]>()
  let ports = targets
  let connections = 0
  let state: State = 'open'
  let delay_ms = 0
  const server = createServer({ pauseOnConnect: true }, (near) => {
    if (state === 'cut' || ports.length === 0) return near.resetAndDestroy()
    const far = dial({ port: ports[connections++ % ports.length] as number, host: '127.0.0.1' })
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
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
  async function close() {
    each((socket) => socket.destroy())
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    port: listening,
    /** Ends every connection and refuses new ones. */
    cut() {
      state = 'cut'
      each((socket) => socket.destroy())
    },
    /** Keeps every connection, also new ones, and lets nothing through in either direction. */
    stall() {
      state = 'stalled'
      each((socket) => socket.pause())
    },
    /** Lets everything through at once; what a stall held back arrives now. */
    heal() {
      state = 'open'
      delay_ms = 0
      each((socket) => socket.resume())
    },
    /** Ends every connection with a TCP reset; new ones are taken. */
    reset() {
      each((socket) => socket.resetAndDestroy())
    },
    /** Lets everything through this much later in each direction, in order. */
    delay(duration_ms: number) {
      delay_ms = duration_ms
    },
    /** Ends every connection, as a fail-over does, and leads new ones to another port, or to each of several in turn. */
    lead(...to: number[]) {
      ports = to
      each((socket) => socket.destroy())
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
