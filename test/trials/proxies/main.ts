import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startAuth, type TestAuth, type TestClient, tokenFields } from '../../support/auth.ts'
import { freePort, freePorts } from '../../support/ports.ts'
import { type ServiceChild, startServiceChild } from '../../support/process.ts'
import { mochaGlobalSetup, mochaGlobalTeardown } from '../../support/servers.ts'
import { answersOfProxies } from './answers.ts'
import { haproxyConfiguration, type Installation, nginxConfiguration } from './configuration.ts'
import { startProxy } from './proxy.ts'

/*
 * nginx and haproxy with the shipped configurations: what they answer themselves, then a host that vanishes under load,
 * then a rolling restart of two and two instances while requests keep coming, of which none may be lost. Both have to be
 * installed (apt-get install nginx haproxy), so this is a command of its own and not part of `npm test`. The host needs
 * root, for a network namespace. `npm run test:proxies -- answers` leaves out the host and the restart.
 */
const CALLERS = 6
const PAUSE_MS = 100
/** Longer than the prober's second. */
const SETTLE_MS = 2_000

interface Instance {
  port: number
  start(): Promise<void>
  stop(): Promise<void>
}

/** An instance of a service, with the default DRAIN_DELAY_S, that is stopped and started again on its port. */
function instanceOf(program: string, port: number, env: Record<string, string>): Instance {
  let child: ServiceChild | undefined
  return {
    port,
    async start() {
      child = startServiceChild(program, { ...env, PORT: String(port), DRAIN_DELAY_S: '5' })
      await child.logged('ready')
    },
    async stop() {
      await child?.kill()
    },
  }
}

/** Asks for tokens and reads with them until it is stopped. */
async function call(url: string, client: TestClient, counted: Counted, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    const token = await ask(counted, 'token', `${url}/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(tokenFields(client)),
    })
    const { access_token } = (await token?.json().catch(() => ({}))) ?? {}
    const daily = `${url}/v1/analytics/${client.vendorId}/daily`
    const read = await ask(counted, 'daily', daily, { headers: { Authorization: `Bearer ${access_token}` } })
    await read?.arrayBuffer().catch(() => {})
    await sleep(PAUSE_MS)
  }
}

interface Counted {
  requests: number
  failures: string[]
}

async function ask(
  counted: Counted,
  what: string,
  url: string,
  init: RequestInit,
): Promise<Response | undefined> {
  counted.requests += 1
  try {
    const response = await fetch(url, init)
    if (response.status !== 200) counted.failures.push(`${what}: ${response.status}`)
    return response
  } catch (error) {
    counted.failures.push(`${what}: ${(error as Error).cause ?? error}`)
    return undefined
  }
}

async function roll(
  name: 'nginx' | 'haproxy',
  auth: TestAuth,
  configuration: (installation: Installation) => string,
): Promise<Counted> {
  const [port, ...ports] = (await freePorts(5)) as [number, number, number, number, number]
  const url = `http://127.0.0.1:${port}`
  const api = {
    DATABASE_URL: auth.database.apiUrl,
    REDIS_URL: auth.redis.url('api'),
    ISSUER: auth.env.ISSUER as string,
    API_RESOURCE: auth.env.API_RESOURCE as string,
    JWKS_URL: `${url}/v1/oauth/jwks`,
    TRUSTED_PROXIES: '127.0.0.1',
  }
  const instances = [
    ...ports
      .slice(0, 2)
      .map((each) => instanceOf('apps/auth/main.ts', each, { ...auth.env, TRUSTED_PROXIES: '127.0.0.1' })),
    ...ports.slice(2).map((each) => instanceOf('apps/api/main.ts', each, api)),
  ]
  const at = (from: number, to: number) => ports.slice(from, to).map((each) => `127.0.0.1:${each}`)
  const listen = name === 'nginx' ? String(port) : `127.0.0.1:${port}`
  const workspace = name === 'nginx' ? tmpdir() : `127.0.0.1:${await freePort()}`
  await Promise.all(instances.slice(0, 2).map((instance) => instance.start()))
  const proxy = await startProxy(
    name,
    port,
    configuration({ auth: at(0, 2), api: at(2, 4), listen, workspace, retry: false }),
  )
  await Promise.all(instances.slice(2).map((instance) => instance.start()))
  await sleep(SETTLE_MS)
  const client = await auth.createClient()
  const counted: Counted = { requests: 0, failures: [] }
  const stopping = new AbortController()
  const callers = Array.from({ length: CALLERS }, () => call(url, client, counted, stopping.signal))
  for (const instance of instances) {
    await instance.stop()
    await instance.start()
    await sleep(SETTLE_MS)
  }
  stopping.abort()
  await Promise.all(callers)
  await proxy.stop()
  await Promise.all(instances.map((instance) => instance.stop()))
  return counted
}

async function rollBoth(): Promise<boolean> {
  await mochaGlobalSetup()
  const auth = await startAuth({ env: { RATE_TOKEN_PER_CLIENT: '1000000/60' } })
  try {
    const results = {
      nginx: await roll('nginx', auth, nginxConfiguration),
      'haproxy, without retries': await roll('haproxy', auth, haproxyConfiguration),
    }
    for (const [name, { requests, failures }] of Object.entries(results)) {
      process.stdout.write(`${name}: ${failures.length} of ${requests} requests lost\n`)
      for (const failure of new Set(failures)) process.stdout.write(`  ${failure}\n`)
    }
    return Object.values(results).every(({ failures }) => failures.length === 0)
  } finally {
    await auth.stop()
    await mochaGlobalTeardown()
  }
}

async function hostGone(): Promise<boolean> {
  const args = ['--net', process.execPath, join(import.meta.dirname, 'gone.ts')]
  const [code] = await once(spawn('unshare', args, { stdio: 'inherit' }), 'exit')
  return code === 0
}

for (const name of ['nginx', 'haproxy'] as const)
  for (const [what, holds] of await answersOfProxies(name)) {
    process.stdout.write(`${holds ? 'ok' : 'FAILED'}: ${name}: ${what}\n`)
    if (!holds) process.exitCode = 1
  }
if (process.argv[2] !== 'answers')
  for (const trial of [hostGone, rollBoth]) if (!(await trial())) process.exitCode = 1
