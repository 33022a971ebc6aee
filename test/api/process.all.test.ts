import assert from 'node:assert/strict'
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { serviceEnvironment } from '../../infra/service-environment.ts'
import { sharedApi } from '../support/api.ts'
import { API_RESOURCE, ISSUER } from '../support/issuer.ts'
import { freePort } from '../support/ports.ts'

const MAIN = join(import.meta.dirname, '../../apps/api/main.ts')

describe('the process of the resource API', () => {
  const api = sharedApi()

  const environment = (port: number) => ({
    PATH: process.env.PATH,
    ...serviceEnvironment(),
    DRAIN_DELAY_S: '0',
    PORT: String(port),
    DATABASE_URL: api.database.apiUrl,
    REDIS_URL: api.redis.url('api'),
    ISSUER,
    API_RESOURCE,
    JWKS_URL: api.issuer.jwksUrl,
  })

  /** Starts one and waits until it is ready. */
  async function start(env: Record<string, string> = {}) {
    const port = await freePort()
    const child = fork(MAIN, {
      env: { ...environment(port), ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
    const url = `http://127.0.0.1:${port}`
    const ready = () =>
      fetch(`${url}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      )
    const listening = () => output.includes('"msg":"listening"')
    while (!(listening() && (await ready()))) {
      assert.equal(child.exitCode, null, output)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return {
      child,
      url,
      output: () => output,
      ended: once(child, 'exit') as Promise<[number, string | null]>,
    }
  }

  it('serves tokens, says once that it listens, and ends with the process that started it', async () => {
    const { child, url, output, ended } = await start()
    const { vendorId } = await api.createCompany()
    const { clientId } = await api.createClient({ vendorId })
    api.clock.set(Date.now())
    const token = await api.issuer.token({ clientId, vendorId })
    const read = await fetch(`${url}/v1/analytics/${vendorId}/daily`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(read.status, 200)
    child.disconnect()
    assert.deepEqual(await ended, [0, null])
    assert.equal(output().match(/"msg":"listening"/g)?.length, 1)
    assert.equal(output().includes(token), false)
  })

  it('runs several processes on one port and leaves none behind', async () => {
    const { child, url, output, ended } = await start({ PROCESSES: '2' })
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
    assert.equal(output().match(/"msg":"listening"/g)?.length, 1)
    await assert.rejects(fetch(`${url}/healthz`))
  })

  it('ends with 78 and names every wrong setting, but no value, when it cannot be configured', async () => {
    const env = {
      ...environment(0),
      PORT: 'eighty',
      DATABASE_URL: 'mysql://user:hunter2@host/db',
      ISSUER: 'https://issuer.test/',
      RATE_API_PER_CLIENT: 'a lot',
      REDIS_URL: '',
    }
    const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    const [code] = await once(child, 'exit')
    assert.equal(code, 78)
    for (const name of ['PORT', 'DATABASE_URL', 'ISSUER', 'RATE_API_PER_CLIENT', 'REDIS_URL']) {
      assert.match(output, new RegExp(`^ {2}${name}: `, 'm'))
    }
    assert.doesNotMatch(output, /hunter2|a lot|eighty| {4}at /)
  })

  it('ends with 1 and one sentence when its port is taken', async () => {
    const { port } = new URL(api.url)
    const child = spawn(process.execPath, [MAIN], {
      env: environment(Number(port)),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (chunk) => (errors += chunk))
    const [code] = await once(child, 'exit')
    assert.equal(code, 1)
    assert.match(errors, /EADDRINUSE/)
    assert.doesNotMatch(errors, / {4}at /)
  })
})
