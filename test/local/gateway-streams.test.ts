import assert from 'node:assert/strict'
import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ClientRequest, IncomingMessage, Server, ServerResponse } from 'node:http'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { forEachTest } from '../support/block.ts'
import { passing } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { startTestGateway } from '../support/gateway.ts'

describe('the gateway: bodies and failures', () => {
  const gateway = forEachTest(() => startTestGateway())

  async function problemAt(path: string, { url }: { url: string } = gateway) {
    const response = await fetch(url + path, { method: 'POST', body: 'x' })
    return { response, body: (await response.json()) as Record<string, unknown> }
  }

  it('passes a body on while it is still being sent', async () => {
    let first = ''
    gateway.answerWith(async (incoming, response) => {
      first = String((await once(incoming, 'data'))[0])
      response.end('early')
    })
    const outgoing = request(`${gateway.url}/v1/session`, { method: 'POST' })
    outgoing.on('error', () => {})
    outgoing.write('the first part')
    const [response] = await once(outgoing, 'response')
    assert.deepEqual([first, response.statusCode], ['the first part', 200])
    outgoing.destroy()
  })

  it('passes 5 MB both ways unchanged', async () => {
    gateway.answerWith((incoming, response) => incoming.pipe(response))
    const body = Buffer.alloc(5_000_000, 'integration ')
    const response = await fetch(`${gateway.url}/v1/session`, { method: 'POST', body })
    assert.ok(Buffer.from(await response.arrayBuffer()).equals(body))
  })

  it('gives the answer of a service that refuses a large body before it has read it', async () => {
    gateway.answerWith((_incoming, response) => {
      response.writeHead(413, { Connection: 'close' }).end('too large')
    })
    const body = Buffer.alloc(5_000_000)
    for (let i = 0; i < 10; i += 1) {
      const response = await fetch(`${gateway.url}/v1/session`, { method: 'POST', body })
      assert.deepEqual([response.status, await response.text()], [413, 'too large'])
    }
  })

  it('answers 502 as a problem when the resource API does not listen', async () => {
    await gateway.stopService('api')
    const { response, body } = await problemAt('/v1/session')
    assert.equal(response.headers.get('content-type'), 'application/problem+json')
    assert.deepEqual([response.status, response.headers.get('retry-after')], [502, '2'])
    const requestId = response.headers.get('x-request-id')
    const type = 'https://api.test/docs/errors#problem-bad_gateway'
    assert.partialDeepStrictEqual(body, { code: 'bad_gateway', type, status: 502, requestId })
  })

  it('answers 502 in the form of OAuth when the authorization server does not listen, and for the API as ever', async () => {
    await gateway.stopService('auth')
    for (const path of ['/v1/oauth/token', '/.well-known/oauth-authorization-server']) {
      const { response, body } = await problemAt(path)
      assert.deepEqual([response.status, body.error], [502, 'temporarily_unavailable'])
      assert.equal(response.headers.get('content-type'), 'application/json')
      assert.equal(response.headers.get('cache-control'), 'no-store')
    }
    assert.equal((await fetch(`${gateway.url}/v1/session`)).status, 200)
  })

  const BREAKS: [how: string, breakOff: (socket: Socket) => unknown][] = [
    ['closes the connection', (socket) => socket.destroy()],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
  ]
  for (const [how, end] of [
    ...BREAKS,
    ['does not speak HTTP', (socket) => socket.end('hello\r\n\r\n')],
  ] as typeof BREAKS)
    it(`answers 502 when a service ${how} in place of an answer`, async () => {
      gateway.answerWith(({ socket }) => void end(socket))
      const { response, body } = await problemAt('/v1/session')
      assert.deepEqual([response.status, body.code], [502, 'bad_gateway'])
    })

  for (const [form, path, member, code] of [
    ['as a problem', '/v1/session', 'code', 'gateway_timeout'],
    ['in the form of OAuth', '/v1/oauth/token', 'error', 'temporarily_unavailable'],
  ] as const)
    it(`answers 504 ${form} when the service of ${path} says nothing`, async () => {
      await using impatient = await startTestGateway({ idleTimeout_ms: 400 })
      impatient.answerWith(() => {})
      const { response, body } = await problemAt(path, impatient)
      assert.deepEqual([response.status, body[member]], [504, code])
    })

  for (const [how, breakOff] of BREAKS)
    it(`breaks an answer off when the service ${how} in the middle, so that nobody takes it for whole`, async () => {
      let end = () => {}
      gateway.answerWith(({ socket }, response) => {
        response.write('a part')
        end = () => void breakOff(socket)
      })
      const response = await fetch(`${gateway.url}/v1/session`)
      end()
      await assert.rejects(response.text())
    })

  it('reads a large body to its end when the service does not listen', async () => {
    await gateway.stopService('api')
    const outgoing = request(`${gateway.url}/v1/session`, { method: 'POST' })
    const sent = once(outgoing, 'finish')
    outgoing.end(Buffer.alloc(20_000_000))
    const [response] = await once(outgoing, 'response')
    assert.equal(response.statusCode, 502)
    await sent
    outgoing.destroy()
  })

  it('ends the request to the service when the caller goes away', async () => {
    const arrived = new Promise<IncomingMessage>((resolve) => gateway.answerWith(resolve))
    const caller = new AbortController()
    const answer = assert.rejects(fetch(`${gateway.url}/v1/session`, { signal: caller.signal }))
    const { socket } = await arrived
    caller.abort()
    await answer
    await eventually(() => socket.destroyed)
  })

  it('lets requests in flight finish when it stops, and takes no new ones', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<ServerResponse>()
    gateway.answerWith((_incoming, response) => resolve(response))
    const answer = fetch(`${gateway.url}/v1/session`)
    const response = await arrived
    const stopped = gateway.gateway.stop()
    await assert.rejects(fetch(`${gateway.url}/v1/session`))
    response.end('whole')
    assert.equal(await (await answer).text(), 'whole')
    await stopped
  })

  it('ends ten seconds after it began to stop, whatever is in flight', async () => {
    const arrived = new Promise((resolve) => gateway.answerWith(resolve))
    const answer = assert.rejects(fetch(`${gateway.url}/v1/session`))
    await arrived
    await passing(10_000, () => gateway.gateway.stop())
    await answer
  })

  it('gives a caller 25 s for a request, and a service 30 s of silence', async () => {
    const servers: Server[] = []
    const requests: ClientRequest[] = []
    const onServer = (message: unknown) => servers.push((message as { server: Server }).server)
    const onClient = (message: unknown) => requests.push((message as { request: ClientRequest }).request)
    channel('http.server.request.start').subscribe(onServer)
    channel('http.client.request.start').subscribe(onClient)
    await fetch(`${gateway.url}/v1/session`)
    channel('http.server.request.start').unsubscribe(onServer)
    channel('http.client.request.start').unsubscribe(onClient)
    assert.deepEqual([servers[0]?.requestTimeout, requests[0]?.socket?.timeout], [25_000, 30_000])
  })
})
