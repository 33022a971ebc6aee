import assert from 'node:assert/strict'
import { INDEX, sharedGateway } from '../support/gateway.ts'

const ASSET = '/assets/app-Bx3d9f.js'

describe("the gateway: the workspace's files", () => {
  const gateway = sharedGateway()

  const get = (path: string) => fetch(gateway.url + path)

  it('serves files with their type, and forbids sniffing another', async () => {
    for (const [path, type] of [
      ['/', 'text/html; charset=utf-8'],
      [ASSET, 'text/javascript; charset=utf-8'],
      ['/favicon.svg', 'image/svg+xml'],
    ] as const) {
      const { headers } = await get(path)
      assert.deepEqual(
        [headers.get('content-type'), headers.get('x-content-type-options')],
        [type, 'nosniff'],
      )
    }
  })

  it('sets a policy that runs only own scripts and forbids framing', async () => {
    const policy = (await get('/')).headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /script-src 'self'(;|$)/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
  })

  it('allows caching of content-named files, and revalidates the others', async () => {
    assert.match((await get(ASSET)).headers.get('cache-control') ?? '', /immutable/)
    assert.equal((await get('/')).headers.get('cache-control'), 'no-cache')
    assert.equal((await get('/favicon.svg')).headers.get('cache-control'), 'no-cache')
  })

  /** fetch would ask for a new copy, and hide whether HEAD has a body. */
  const raw = (method: string, field = '') =>
    gateway.raw(`${method} / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${field}\r\n`)

  it('sends no file again to a browser that has it', async () => {
    const etag = (await get('/')).headers.get('etag') ?? ''
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
      assert.match(await raw('GET', `If-None-Match: ${value}\r\n`), /^HTTP\/1\.1 304 [^<]*$/, value)
    assert.match(await raw('GET', 'If-None-Match: "other"\r\n'), /^HTTP\/1\.1 200 /)
  })

  it('answers HEAD for a file with the same fields and no body', async () => {
    const answer = await raw('HEAD')
    assert.match(answer, /^HTTP\/1\.1 200 [^<]*$/)
    assert.match(answer, new RegExp(`\r\nContent-Length: ${Buffer.byteLength(INDEX)}\r\n`))
  })

  it('answers a browser with the page where there is no file, and others with a problem', async () => {
    const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    for (const path of ['/login', '/assets/none.js']) {
      const page = await fetch(gateway.url + path, { headers: browser })
      assert.deepEqual([page.status, await page.text()], [404, INDEX])
      assert.equal(page.headers.get('cache-control'), 'no-cache')
      assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
      const problem = await get(path)
      assert.equal(problem.status, 404)
      assert.equal(problem.headers.get('content-type'), 'application/problem+json')
    }
  })

  it('serves no files but the workspace’s', async () => {
    const paths = '/package.json /index.html/..%00 /assets /assets/ /etc/passwd /__proto__ /constructor'
    for (const path of paths.split(' '))
      assert.doesNotMatch(await (await get(path)).text(), /root:|"name"|function/)
    assert.equal((await get('/__proto__')).status, 404)
  })
})
