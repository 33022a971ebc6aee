import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { listen } from '#shared/process/http-server.ts'
import { collectText } from '../support/collect-text.ts'
import { freePort } from '../support/ports.ts'
import { preloading } from '../support/process.ts'

const PROGRAM = join(import.meta.dirname, '../../infra/deploy/wait-until-ready.ts')

describe('the wait for a service that systemd has started', () => {
  let server: Server
  let status: number
  let asked: number
  let onAsked: () => void
  const started: ChildProcess[] = []

  beforeEach(async () => {
    asked = 0
    status = 503
    onAsked = () => {}
    server = createServer((request, response) => {
      asked += 1
      response.statusCode = request.url === '/readyz' ? status : 404
      response.end('{"status":"not ready","waitingFor":["postgres"]}')
      onAsked()
    })
    await listen(server, { host: '127.0.0.1', port: 0 })
  })
  afterEach(async () => {
    for (const child of started.splice(0)) child.kill('SIGKILL')
    server.close().closeAllConnections()
  })

  const port = () => String((server.address() as { port: number }).port)

  function wait(env: Record<string, string>, args: string[] = []) {
    const child = spawn(process.execPath, [PROGRAM, ...args], { env })
    started.push(child)
    const stderr = collectText(child.stderr)
    return once(child, 'close').then(([code]) => ({ code, stderr: stderr() }))
  }

  /** A process that does nothing, in place of the service. */
  function service(): ChildProcess {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'])
    started.push(child)
    return child
  }

  it('waits until /readyz is 200, on the port of the environment where the unit names another', async () => {
    onAsked = () => {
      if (asked === 3) status = 200
    }
    const env = { PORT: port(), HOST: '0.0.0.0', MAINPID: String(service().pid) }
    const { code } = await wait(env, [String(await freePort())])
    assert.deepEqual([code, asked], [0, 4])
  })

  it('takes the port of its argument when there is none in the environment', async () => {
    status = 200
    assert.equal((await wait({ PORT: '', HOST: '' }, [port()])).code, 0)
  })

  it('fails with the last answer once the service has ended', async () => {
    const child = service()
    onAsked = () => void child.kill('SIGKILL')
    const { code, stderr } = await wait({ PORT: port(), MAINPID: String(child.pid) })
    assert.equal(code, 1)
    assert.equal(stderr, 'the service has exited: {"status":"not ready","waitingFor":["postgres"]}\n')
  })

  /** Has the program begin with this. */
  const beginning = (code: string) => ({ NODE_OPTIONS: preloading(code) })

  it('fails after 80 s', async () => {
    const env = beginning(`const { fetch } = globalThis
      let now_ms = 0
      performance.now = () => now_ms
      globalThis.fetch = (...asked) => {
        now_ms += 20_000
        return fetch(...asked)
      }`)
    const { code, stderr } = await wait({ ...env, PORT: port() })
    assert.deepEqual([code, asked], [1, 4])
    assert.match(stderr, /^not ready at http:.*postgres/)
  })

  it('asks again after an answer that does not come for 3 s', async () => {
    server.prependOnceListener('request', (_request, response) => {
      response.end = () => response
      status = 200
    })
    const env = beginning(`const { timeout } = AbortSignal
      AbortSignal.timeout = (ms) => timeout.call(AbortSignal, ms === 3_000 ? 500 : ms)`)
    assert.deepEqual([(await wait({ ...env, PORT: port() })).code, asked], [0, 2])
  })

  it('says at once that it has no port', async () => {
    const stderr = 'Set PORT, or give the port: infra/node infra/deploy/wait-until-ready.ts 8081\n'
    for (const env of [{}, { PORT: '80810' }]) assert.deepEqual(await wait(env), { code: 64, stderr })
  })

  it('fails when nothing ever listened and the service has ended', async () => {
    const child = service()
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { code } = await wait({ PORT: String(await freePort()), HOST: '::', MAINPID: String(child.pid) })
    assert.equal(code, 1)
  })
})
