import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import { drain, listen } from '#shared/process/http-server.ts'

describe('drain', () => {
  it('lets a request in flight finish, then ends, though its caller keeps the connection', async () => {
    const server = createServer({ keepAliveTimeout: 60_000 })
    const arrived = once(server, 'request')
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const agent = new Agent({ keepAlive: true })
    const body = new Promise<string>((resolve, reject) => {
      get({ port, agent }, (response) => {
        response.on('data', (chunk) => resolve(String(chunk)))
      }).on('error', reject)
    })
    const [, response] = await arrived
    // Longer than a test may take.
    const drained = drain(server, 60_000)
    response.end('whole')
    await drained
    assert.equal(await body, 'whole')
    agent.destroy()
  })

  it('cuts what is left at the deadline', async () => {
    const server = createServer()
    const arrived = once(server, 'request')
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const cut = new Promise((resolve) => get({ port }).on('error', resolve))
    await arrived
    await drain(server, 100)
    await cut
  })
})
