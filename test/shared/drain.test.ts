import assert from 'node:assert/strict'
import { Agent, createServer, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { drain, listen } from '#shared/process/http-server.ts'

describe('drain', () => {
  it('lets a request in flight finish, then ends, though its caller keeps the connection', async () => {
    const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
      setTimeout(() => response.end('whole'), 200)
    })
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const agent = new Agent({ keepAlive: true })
    const body = new Promise<string>((resolve, reject) => {
      get({ port, agent }, (response) => {
        response.on('data', (chunk) => resolve(String(chunk)))
      }).on('error', reject)
    })
    await sleep(50)
    const began = performance.now()
    await drain(server, 10_000)
    assert.equal(await body, 'whole')
    assert.ok(performance.now() - began < 1_500, `took ${performance.now() - began} ms`)
    agent.destroy()
  })

  it('cuts what is left at the deadline', async () => {
    const server = createServer(() => {})
    const port = await listen(server, { host: '127.0.0.1', port: 0 })
    const cut = new Promise((resolve) => get({ port }).on('error', resolve))
    await sleep(50)
    await drain(server, 100)
    await cut
  })
})
