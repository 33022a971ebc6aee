import { chmod, mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen } from '#shared/process/http-server.ts'
import { eventually } from '../../support/eventually.ts'
import { freePorts } from '../../support/ports.ts'
import type { Check } from '../checks.ts'
import { CONFIGURATIONS, workspaceConfiguration } from './configuration.ts'
import { startProxy } from './proxy.ts'

/** Between the start of the prober and its first verdict, or its last one. */
const PROBED_MS = 5_000
/** As the services have it: longer than a proxy keeps a connection that it does not use. */
const KEEP_ALIVE_MS = 75_000
const CODE = 'c0de-of-a-sign-in'

/** Starts stand-ins for two instances of each service, one at each host. They remember what reached them. */
export async function startInstances(hosts: string[]) {
  const reached: string[] = []
  let answer: RequestListener = (_request, response) => void response.end('here')
  const servers: Server[] = []
  const ports: number[] = []
  for (const host of hosts) {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      if (request.url === '/readyz') return void response.end('{}')
      reached.push(`${request.method} ${request.url}`)
      answer(request, response)
    })
    servers.push(server)
    ports.push(await listen(server, { host, port: 0 }))
  }
  function stop(): void {
    for (const server of servers) server.close().closeAllConnections()
  }
  return {
    reached,
    at: ports.map((port, i) => `${hosts[i]}:${port}`),
    answerWith(next: RequestListener) {
      answer = next
    },
    stop,
    [Symbol.dispose]: stop,
  }
}

/** What the proxy answers itself, in front of stand-ins for the services. */
export async function answersOfProxies(name: 'nginx' | 'haproxy'): Promise<Check[]> {
  await using pages = await mkdtempDisposable(join(tmpdir(), 'integration-access-pages-'))
  // nginx's workers are somebody else.
  await chmod(pages.path, 0o755)
  await mkdir(join(pages.path, 'assets'))
  await writeFile(join(pages.path, 'index.html'), 'the workspace')
  await writeFile(join(pages.path, 'assets/app.js'), 'script')
  using instances = await startInstances(Array(4).fill('127.0.0.1'))
  const [port, pagesPort] = (await freePorts(2)) as [number, number]
  const pagesAt = `127.0.0.1:${pagesPort}`
  const configuration = CONFIGURATIONS[name]({
    auth: instances.at.slice(0, 2),
    api: instances.at.slice(2),
    listen: `127.0.0.1:${port}`,
    workspace: name === 'nginx' ? pages.path : pagesAt,
  })
  await using proxy = await startProxy(name, port, configuration)
  const ofPagesAlone = workspaceConfiguration({ listen: pagesAt, workspace: pages.path })
  await using _server = name === 'haproxy' ? await startProxy('nginx', pagesPort, ofPagesAlone) : undefined
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  const untilStatus = async (isWanted: (status: number) => boolean) => {
    for (const path of ['/v1/session', '/v1/oauth/jwks'])
      await eventually(async () => isWanted((await ask(path)).status), { limit_ms: PROBED_MS })
  }
  await untilStatus((status) => status === 200)
  instances.reached.length = 0
  const checks = [
    ...(await ofPaths(ask, instances)),
    ...(await ofHalfDone(ask, instances)),
    ...(await ofPages(ask)),
  ]
  instances.stop()
  await untilStatus((status) => status >= 500)
  checks.push(...(await ofNobody(ask)))
  checks.push(['the code of a sign-in is in no log', !(await proxy.logs()).includes(CODE)])
  return checks
}

type Ask = (path: string, init?: RequestInit) => Promise<Response>

async function ofPaths(ask: Ask, { reached }: { reached: string[] }): Promise<Check[]> {
  const refused = ['/v1/oauth%2ftoken', '/v1/%2F', '/v1/oauth%5Ctoken', '/v1//oauth/token', '/v1/x%00']
  const hidden = ['/healthz', '/readyz', '/metrics']
  const checks: Check[] = []
  for (const path of [...refused, ...hidden]) {
    const status = refused.includes(path) ? 400 : 404
    checks.push([`${path} is ${status}`, (await ask(path)).status === status])
  }
  return [...checks, ['none of these reached an instance', reached.length === 0]]
}

/** An instance that takes a request and hangs up may have carried it out. */
async function ofHalfDone(
  ask: Ask,
  { reached, answerWith }: Awaited<ReturnType<typeof startInstances>>,
): Promise<Check[]> {
  answerWith((request) => request.resume().on('end', () => request.socket.destroy()))
  const checks: Check[] = []
  for (const path of ['/v1/oauth/token', '/v1/vendor/ven_1/oauth-clients']) {
    reached.length = 0
    const { status } = await ask(path, { method: 'POST', body: 'x=1' })
    checks.push([`POST ${path} is sent once, and fails`, reached.length === 1 && status >= 502])
  }
  answerWith((_request, response) => void response.end('here'))
  return checks
}

async function ofPages(ask: Ask): Promise<Check[]> {
  const [page, script, missing] = [
    await ask('/ven_acme/clients'),
    await ask('/assets/app.js'),
    await ask('/assets/x.js'),
  ]
  const policy = page.headers.get('content-security-policy') ?? ''
  return [
    ['a screen is the workspace', page.status === 200 && (await page.text()) === 'the workspace'],
    ['with its policy', policy.includes("script-src 'self'")],
    ['its script may be kept', /immutable/.test(script.headers.get('cache-control') ?? '')],
    ['an unknown file is 404', missing.status === 404],
    ['a page says to come by TLS only', page.headers.get('strict-transport-security') === 'max-age=31536000'],
  ]
}

/** With no instance left. */
async function ofNobody(ask: Ask): Promise<Check[]> {
  const checks: Check[] = []
  for (const [path, type, member] of [
    ['/v1/session', 'application/problem+json', 'code'],
    [`/v1/session/openid/callback?code=${CODE}`, 'application/problem+json', 'requestId'],
    ['/v1/oauth/token', 'application/json', 'error'],
  ] as const) {
    const response = await ask(path, { method: path.endsWith('token') ? 'POST' : 'GET' })
    const text = await response.text()
    process.stdout.write(`${path}: ${response.status} ${text}\n`)
    const body = JSON.parse(text)
    checks.push(
      [`${path} without any instance is 503`, response.status === 503],
      ['in its own form', response.headers.get('content-type') === type && typeof body[member] === 'string'],
      ['says when to try again', response.headers.get('retry-after') === '2'],
      ['is not kept', response.headers.get('cache-control') === 'no-store'],
      ['has a request id', (response.headers.get('x-request-id') ?? '').length > 8],
      ['says to come by TLS only', response.headers.get('strict-transport-security') === 'max-age=31536000'],
    )
  }
  return checks
}
