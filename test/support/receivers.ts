import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { createCertificate } from './certificates.ts'

/** The authority that tests trust, and one that they do not. */
export const authority = createCertificate({ commonName: 'Test Authority', isAuthority: true })
export const strangeAuthority = createCertificate({ commonName: 'Strange Authority', isAuthority: true })

export const RECEIVER_NAME = 'hooks.acme-receiver.com'
const good = createCertificate({ commonName: RECEIVER_NAME, names: [RECEIVER_NAME], issuer: authority })
export const goodTls = { key: good.keyPem, cert: good.pem }

export type Receiver = Awaited<ReturnType<typeof listening>>

/** Starts a server on loopback that counts connections. */
async function listening(server: Server, host: string, at = 0) {
  await once(server.listen(at, host), 'listening')
  const { port } = server.address() as AddressInfo
  const open = new Set<Socket>()
  async function stop() {
    const closed = once(server, 'close')
    server.close()
    for (const socket of open) socket.destroy()
    await closed
  }
  const receiver = {
    port,
    url: `https://${RECEIVER_NAME}:${port}/hook`,
    connections: 0,
    open,
    /** What was received after the TLS handshake, decoded as UTF-8. */
    received: '',
    stop,
    [Symbol.asyncDispose]: stop,
  }
  server.on('connection', (socket: Socket) => {
    receiver.connections += 1
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  })
  return receiver
}

export interface TlsReceiverOptions {
  tls?: TlsOptions
  /** Called with the decrypted connection, and with what resets it. */
  talk: (socket: TLSSocket, reset: () => void) => void
  host?: string
  port?: number
}

/** A TLS server that says, byte by byte, what `talk` writes. */
export async function startTlsReceiver(options: TlsReceiverOptions): Promise<Receiver> {
  const { tls = {}, talk, host = '127.0.0.1', port = 0 } = options
  const server = createTlsServer({ ...goodTls, ...tls })
  const receiver = await listening(server, host, port)
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      receiver.received += chunk.toString()
    })
    const raw = [...receiver.open].find((candidate) => candidate.remotePort === socket.remotePort)
    talk(socket, () => void raw?.resetAndDestroy())
  })
  return receiver
}

/** Waits for the whole request, then writes `answer` and, by default, ends the connection. */
export function answering(answer: string | Buffer, { end = true } = {}): (socket: TLSSocket) => void {
  return (socket) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => {
      const before = text.includes('"sentAt"')
      text += chunk.toString()
      if (before || !text.includes('"sentAt"')) return
      socket.write(answer)
      if (end) socket.end()
    })
  }
}

export async function startHttpsReceiver(listener: RequestListener, tls?: TlsOptions): Promise<Receiver> {
  const http = createHttpServer(listener)
  return startTlsReceiver({ ...(tls && { tls }), talk: (socket) => void http.emit('connection', socket) })
}

export const startTcpReceiver = (talk: (socket: Socket) => void, host = '127.0.0.1', port = 0) =>
  listening(createServer(talk), host, port)
