import assert from 'node:assert/strict'
import { chmod, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { forBlock } from '../../support/block.ts'
import { eventually } from '../../support/eventually.ts'
import { writeFiles } from '../../support/files.ts'
import { freePort } from '../../support/ports.ts'
import { startInstances } from './instances.ts'
import { startNginx } from './nginx.ts'

/** nginx leaves an instance out for 3 s. */
const NOTICED_MS = 5_000
const CODE = 'c0de-of-a-sign-in'
const TLS_ONLY = 'max-age=31536000'
const PATHS: Record<string, number> = {
  '/v1/oauth%2ftoken': 400,
  '/v1/%2F': 400,
  '/v1/oauth%5Ctoken': 400,
  '/v1//oauth/token': 400,
  '/v1/x%00': 400,
  '/healthz': 404,
  '/readyz': 404,
  '/metrics': 404,
}

/** nginx in front of stand-ins for the services, and all that the workspace is made of. */
async function startSite() {
  await using starting = new AsyncDisposableStack()
  const pages = starting.use(await mkdtempDisposable(join(tmpdir(), 'integration-access-pages-')))
  // nginx's workers run as another user.
  await chmod(pages.path, 0o755)
  const app = { 'assets/app.js': 'script', 'assets/app.js.gz': gzipSync('script') }
  await writeFiles(pages.path, { 'index.html': 'the workspace', ...app })
  const instances = starting.use(await startInstances(Array(4).fill('127.0.0.1')))
  const port = await freePort()
  const proxy = starting.use(await startNginx({ ...instances, port, workspace: pages.path }))
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  const parts = starting.move()
  return {
    instances,
    ask,
    logs: proxy.logs,
    async untilStatus(isWanted: (status: number) => boolean) {
      for (const path of ['/v1/session', '/v1/oauth/jwks'])
        await eventually(async () => isWanted((await ask(path)).status), { limit_ms: NOTICED_MS })
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe('nginx, as it is shipped', () => {
  const site = forBlock(startSite)
  before(() => site.untilStatus((status) => status === 200))
  beforeEach(() => Object.assign(site.instances.state, { reached: [], hangUp: false }))

  it('refuses or hides paths, of which none reaches an instance', async () => {
    const statuses: typeof PATHS = {}
    for (const path of Object.keys(PATHS)) statuses[path] = (await site.ask(path)).status
    assert.deepEqual([statuses, site.instances.state.reached], [PATHS, []])
  })

  for (const path of ['/v1/oauth/token', '/v1/vendor/ven_1/oauth-clients'])
    it(`sends POST ${path} once, and fails, if an instance takes it and hangs up`, async () => {
      site.instances.state.hangUp = true
      const { status } = await site.ask(path, { method: 'POST', body: 'x=1' })
      assert.equal(site.instances.state.reached.length, 1)
      assert.ok(status >= 502, `${status}`)
    })

  for (const [path, status, idOf, body] of [
    ['/v1/session', 200, 'the service'],
    ['/v1//session', 400, 'nginx'],
    ['/metrics', 404, 'nginx'],
    ['/assets/x.js', 404, 'nginx'],
    ['/', 200, 'nginx'],
    ['/v1/session', 413, 'nginx', 'x'.repeat(1_100_000)],
  ] as const)
    it(`answers ${status} with one request id, of ${idOf}: ${path}`, async () => {
      const response = await site.ask(path, body ? { method: 'POST', body } : {})
      assert.equal(response.status, status)
      const id = idOf === 'nginx' ? /^[0-9a-f]{32}$/ : /^of-[0-9a-f]{32}$/
      assert.match(response.headers.get('x-request-id') ?? '', id)
    })

  it('serves the workspace with its policy, to be kept as it may', async () => {
    const page = await site.ask('/ven_acme/clients')
    assert.deepEqual([page.status, await page.text()], [200, 'the workspace'])
    assert.match(page.headers.get('content-security-policy') ?? '', /script-src 'self'/)
    assert.equal(page.headers.get('strict-transport-security'), TLS_ONLY)
    const { headers } = await site.ask('/assets/app.js')
    assert.match(headers.get('cache-control') ?? '', /immutable/)
    assert.deepEqual([headers.get('content-encoding'), headers.get('vary')], ['gzip', 'Accept-Encoding'])
    const missing = await site.ask('/login')
    assert.deepEqual([missing.status, await missing.text()], [404, 'the workspace'])
    assert.equal(missing.headers.get('cache-control'), 'no-cache')
  })

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    it(`answers ${method} with 405, and with no page or file of the workspace`, async () => {
      for (const path of ['/', '/ven_acme/clients', '/index.html', '/assets/app.js']) {
        const response = await site.ask(path, { method })
        assert.equal(response.status, 405, path)
        assert.doesNotMatch(await response.text(), /the workspace|script/, path)
      }
    })

  describe('without any instance', () => {
    before(() => {
      site.instances.stop()
      return site.untilStatus((status) => status >= 500)
    })

    for (const [path, type, member] of [
      ['/v1/session', 'application/problem+json', 'code'],
      [`/v1/session/openid/callback?code=${CODE}`, 'application/problem+json', 'requestId'],
      ['/v1/oauth/token', 'application/json', 'error'],
    ] as const)
      it(`answers ${path} with 503 in its own form, never kept`, async () => {
        const response = await site.ask(path, { method: path.endsWith('token') ? 'POST' : 'GET' })
        const body = (await response.json()) as Record<string, unknown>
        assert.equal(typeof body[member], 'string', JSON.stringify(body))
        const { 'x-request-id': requestId, ...headers } = Object.fromEntries(response.headers)
        assert.ok(requestId && requestId.length > 8, requestId)
        assert.partialDeepStrictEqual(
          { status: response.status, ...headers },
          {
            status: 503,
            'content-type': type,
            'retry-after': '2',
            'cache-control': 'no-store',
            'strict-transport-security': TLS_ONLY,
          },
        )
      })

    it('has the code of a sign-in in no log', async () => {
      assert.ok(!(await site.logs()).includes(CODE))
    })
  })
})
