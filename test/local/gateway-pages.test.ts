import assert from 'node:assert/strict'
import { INDEX, sharedGateway } from '../support/gateway.ts'

const ASSET = '/assets/app-Bx3d9f.js'

describe("the gateway: the workspace's files", () => {
  const gateway = sharedGateway()

  /** The bytes as they were sent: fetch would decompress them. */
  async function get(path: string, fields: string[] = [], method = 'GET') {
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: x', 'Connection: close', ...fields]
    const { connect } = await import('node:net')
    const chunks: Buffer[] = []
    await new Promise<void>((resolve, reject) => {
      const socket = connect(gateway.port, '127.0.0.1', () => socket.write(`${lines.join('\r\n')}\r\n\r\n`))
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('end', resolve).on('error', reject)
    })
    const bytes = Buffer.concat(chunks)
    const end = bytes.indexOf('\r\n\r\n')
    const [status = '', ...rows] = bytes.subarray(0, end).toString().split('\r\n')
    const headers = new Headers(
      rows.map((row) => [row.split(': ', 1)[0], row.slice(row.indexOf(': ') + 2)] as [string, string]),
    )
    return { status: Number(status.split(' ')[1]), headers, body: bytes.subarray(end + 4) }
  }

  it('serves files with their type, and forbids sniffing another', async () => {
    const types = {
      '/': 'text/html; charset=utf-8',
      [ASSET]: 'text/javascript; charset=utf-8',
      '/favicon.svg': 'image/svg+xml',
    }
    for (const [path, type] of Object.entries(types)) {
      const { headers } = await get(path)
      assert.equal(headers.get('content-type'), type)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
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

  it('sends no file again to a browser that has it', async () => {
    const etag = (await get('/')).headers.get('etag') ?? ''
    for (const value of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, body } = await get('/', [`If-None-Match: ${value}`])
      assert.equal(status, 304, value)
      assert.equal(body.length, 0)
    }
    assert.equal((await get('/', ['If-None-Match: "other"'])).status, 200)
  })

  it('answers HEAD for a file with the same fields and no body', async () => {
    const { status, headers, body } = await get('/', [], 'HEAD')
    assert.equal(status, 200)
    assert.equal(Number(headers.get('content-length')), Buffer.byteLength(INDEX))
    assert.equal(body.length, 0)
  })

  it('answers 404 for a missing file, and index.html for the address of a screen', async () => {
    for (const path of [
      '/assets/gone-123.js',
      '/ven_acme/font.woff2',
      '/robots.txt',
      '/healthz',
      '/readyz',
      '/metrics',
    ]) {
      const { status, headers, body } = await get(path)
      assert.equal(status, 404, path)
      assert.equal(headers.get('content-type'), 'application/problem+json')
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(JSON.parse(body.toString()).code, 'not_found')
    }
    for (const path of ['/', '/ven_acme', '/ven_acme/integrations/webhooks', '/ven_acme/']) {
      const { status, headers, body } = await get(path)
      assert.equal(status, 200, path)
      assert.equal(headers.get('cache-control'), 'no-cache')
      assert.equal(body.toString(), INDEX)
    }
  })

  it('serves no files but the workspace’s', async () => {
    for (const path of [
      '/package.json',
      '/index.html/..%00',
      '/assets',
      '/assets/',
      '/etc/passwd',
      '/__proto__',
      '/constructor',
    ]) {
      const { body } = await get(path)
      assert.doesNotMatch(body.toString(), /root:|"name"|function/)
    }
    assert.equal((await get('/__proto__')).status, 404)
  })
})
