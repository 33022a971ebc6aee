import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { drain, listen } from '#shared/process/http-server.ts'
import { startGateway } from '../../infra/local/gateway/gateway.ts'
import { builtPages } from '../../infra/local/gateway/pages.ts'
import { forBlock } from './block.ts'
import { collectText } from './collect-text.ts'
import { writeFiles } from './files.ts'
import { freePort } from './ports.ts'

/** A request as a service behind the gateway got it. */
export interface Received {
  service: Service
  method: string
  url: string
  /** Names and values in turn, as they were sent. */
  rawHeaders: string[]
  headers: IncomingMessage['headers']
  body: string
}

type Service = 'auth' | 'api'

const INDEX = '<!doctype html><title>The workspace</title>'

/** Starts a gateway for all tests of a block. Before each, nothing has been received. */
export function sharedGateway() {
  const gateway = forBlock(startTestGateway)
  beforeEach(() => {
    gateway.received.length = 0
  })
  return gateway
}

/** Starts the gateway in front of two services that record their requests, with a small workspace. */
export async function startTestGateway(options: { idleTimeout_ms?: number; apiResource?: string } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'integration-access-pages-'))
  await writeFiles(directory, {
    'index.html': INDEX,
    'assets/app-Bx3d9f.js': 'console.log(1)',
    'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  })
  const received: Received[] = []
  let handler: RequestListener | undefined
  const serve = (service: Service) =>
    createServer(async (request, response) => {
      if (handler) return void handler(request, response)
      const body = await text(request)
      const { method = '', url = '', rawHeaders, headers } = request
      received.push({ service, method, url, rawHeaders, headers, body })
      response.setHeader('X-Service', service)
      response.end(service)
    })
  const services: Record<Service, Server> = { auth: serve('auth'), api: serve('api') }
  const at = async (service: Service) =>
    `http://127.0.0.1:${await listen(services[service], { host: '127.0.0.1', port: 0 })}`
  const gateway = await startGateway({
    port: await freePort(),
    auth: await at('auth'),
    api: await at('api'),
    pages: builtPages(directory),
    apiResource: 'https://api.test',
    ...options,
  })
  const { port } = gateway
  const stop = async () => {
    gateway.kill()
    await Promise.all(Object.values(services).map((server) => drain(server, 0)))
    await rm(directory, { recursive: true, force: true })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    gateway,
    received,
    /** Both services answer with this instead of 200 and their name. */
    answerWith(next: RequestListener) {
      handler = next
    },
    stopService: (service: Service) => drain(services[service], 0),
    /** Sends bytes and returns all that comes back until the connection ends. */
    raw: (bytes: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
        const answer = collectText(socket)
        socket.on('end', () => resolve(answer())).on('error', reject)
        socket.setTimeout(5_000, () => socket.destroy(new Error(`no end of the answer: ${answer()}`)))
      }),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
