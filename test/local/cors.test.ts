import assert from 'node:assert/strict'
import { ACME } from '../../infra/local/seed/companies.ts'
import type { TestStack } from '../support/stack.ts'
import { testStack } from '../support/workspace.ts'

const ELSEWHERE = 'https://pages.example'
const PUBLIC = new Set(
  `/v1/oauth/jwks /v1/oauth/revocations /.well-known/jwks.json /.well-known/oauth-authorization-server
  /.well-known/openid-configuration /.well-known/oauth-protected-resource
  /openapi.json /openapi/integrations.json`.split(/\s+/),
)
const isPublic = (path: string): boolean => PUBLIC.has(path) || /^\/docs(?:\/|$)/.test(path)
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** They are not in the document. */
const OTHER_PATHS = `/ /sign-in /index.html /healthz /readyz /metrics /docs /openapi.json
  /openapi/integrations.json /v1/nothing`.split(/\s+/)

describe('what pages of other origins may read, at both services and the gateway', () => {
  let stack: TestStack
  let paths: string[]
  before(async () => {
    stack = await testStack()
    const document = await (await fetch(`${stack.baseUrl}/openapi.json`)).json()
    const templates = [...Object.keys(document.paths), ...OTHER_PATHS, ...(await linkedFromDocs())]
    paths = [...new Set(templates)].map((path) => path.replace('{vendorId}', ACME).replaceAll(/[{}]/g, ''))
  })

  async function linkedFromDocs(): Promise<string[]> {
    const html = await (await fetch(`${stack.baseUrl}/docs`)).text()
    return [...html.matchAll(/ (?:href|src)="(\/docs[^"#]*)/g)].map(([, path = '']) => path)
  }

  /** Sends a request as a script of another origin would, and checks every CORS field of the answer. */
  async function assertCors(base: string, method: string, path: string, fields: Record<string, string> = {}) {
    const headers = new Headers({ Origin: ELSEWHERE, ...fields })
    if (method === 'OPTIONS') {
      headers.set('Access-Control-Request-Method', 'GET')
      headers.set('Access-Control-Request-Headers', 'authorization')
    }
    const response = await fetch(base + path, { method, redirect: 'manual', headers })
    await response.arrayBuffer()
    const allowed = isPublic(path) && ['GET', 'HEAD'].includes(method) && response.status < 400
    const sent = [...response.headers].filter(([name]) => name.startsWith('access-control-'))
    const expected = allowed ? [['access-control-allow-origin', '*']] : []
    assert.deepEqual(sent, expected, `${method} ${base}${path}: ${response.status}`)
    return response.status
  }

  const bases = (): string[] => [stack.baseUrl, stack.authUrl, stack.apiUrl]

  it('opens each public document, and nothing else, whatever the method', async () => {
    assert.ok(paths.length > 45, `${paths.length} paths`)
    const read = new Set<string>()
    for (const base of bases())
      for (const path of paths)
        for (const method of METHODS) {
          if ((await assertCors(base, method, path)) === 200 && method === 'GET') read.add(path)
        }
    for (const path of PUBLIC) assert.ok(read.has(path), path)
  })

  it('opens a document that has not changed', async () => {
    for (const path of PUBLIC) {
      const etag = (await fetch(stack.baseUrl + path)).headers.get('etag')
      assert.ok(etag, path)
      assert.equal(await assertCors(stack.baseUrl, 'GET', path, { 'If-None-Match': etag }), 304, path)
    }
  })

  it('opens nothing that needs a session or a token', async () => {
    const signIn = await fetch(`${stack.baseUrl}/v1/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: ELSEWHERE },
      body: JSON.stringify({ email: 'owner@acme.example', password: stack.demoPassword }),
    })
    assert.equal(signIn.status, 201)
    assert.equal(signIn.headers.get('access-control-allow-origin'), null)
    const { sessionToken } = (await signIn.json()) as { sessionToken: string }
    const fields = { Authorization: `Bearer ${sessionToken}`, 'Accept-Encoding': 'identity' }
    const statuses = new Set<number>()
    for (const path of paths.filter((path) => path.startsWith('/v1/') && !isPublic(path)))
      statuses.add(await assertCors(stack.baseUrl, 'GET', path, fields))
    assert.ok(statuses.has(200))
  })
})
