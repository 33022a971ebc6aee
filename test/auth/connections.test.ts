import assert from 'node:assert/strict'
import { newKeyPair } from '../support/assertions.ts'
import { sharedAuth, tokenFields } from '../support/auth.ts'
import { forBlock } from '../support/block.ts'
import { preloading, startServiceChild } from '../support/process.ts'
import { createTestRedis, type TestRedis } from '../support/servers.ts'
import {
  createWorkload,
  platformToken,
  TEST_PLATFORMS,
  type TestPlatform,
  workloadFields,
} from '../support/workload-tokens.ts'

/**
 * Prints to stderr each connection, DNS query, datagram, program and thread that Node starts in a process.
 */
const WATCHED = preloading(`
  import { createHook } from 'node:async_hooks'
  import { writeSync } from 'node:fs'
  const WATCHED = /^(WORKER|(TCPCONNECT|PIPECONNECT|GETADDRINFO|GETNAMEINFO|QUERY|UDP|UDPSEND|PROCESS)(REQ)?WRAP)$/
  createHook({
    init(id, type, cause, { address = '', port = '' }) {
      if (WATCHED.test(type)) writeSync(2, type + ' ' + address + ':' + port + '\\n')
    },
  }).enable()`)

describe('connections of the authorization server', () => {
  const auth = sharedAuth()
  const [revocations, rates] = [forBlock(createTestRedis), forBlock(createTestRedis)]
  const child = forBlock(() => {
    const urls = { REVOCATION_REDIS_URL: revocations.url('auth'), RATE_REDIS_URL: rates.url('auth') }
    return startServiceChild('apps/auth/main.ts', { ...auth.env, ...urls, PORT: '0', NODE_OPTIONS: WATCHED })
  })
  let url: string
  before(async () => {
    const { port } = await child.logged('listening')
    await child.logged('ready')
    url = `http://127.0.0.1:${port}`
  })
  const post = async (path: string, fields: Record<string, string>): Promise<number> =>
    (await fetch(url + path, { method: 'POST', body: new URLSearchParams(fields) })).status

  const kindsOn = async (server: TestRedis) => {
    const keys = await (await server.connect('admin')).keys('*')
    return [...new Set(keys.map((key) => key.split(':')[0]))].sort()
  }

  it('connects to its stores alone, whatever platforms’ tokens name, and keeps at each what is meant for it', async () => {
    assert.equal(await post('/v1/oauth/token', tokenFields(await auth.createClient())), 200)
    const elsewhere = 'https://issuer.acme-platform.com/keys'
    for (const name of ['GitHub Actions', 'Kubernetes', 'SPIFFE']) {
      const platform = TEST_PLATFORMS[name] as TestPlatform
      const workload = await createWorkload(auth, platform)
      const signToken = (claims: object, header: object, keys = workload.keys) =>
        platformToken({ ...workload, keys }, Date.now(), { ...claims }, { ...header })
      const rogue = newKeyPair(platform.kind)
      const hostile = await Promise.all([
        signToken({}, { kid: 'next' }),
        signToken({}, { kid: 'next', jku: elsewhere, x5u: elsewhere, jwk: rogue.jwk }, rogue),
        signToken({ iss: 'https://issuer.acme-platform.com' }, {}),
        signToken({ jwks_uri: elsewhere, aud: elsewhere }, {}),
      ])
      for (const path of ['/v1/oauth/token', '/v1/oauth/revoke']) {
        const send = (token: string) => post(path, { ...workloadFields(workload, token), token: 'x' })
        assert.equal(await send(await signToken({}, {})), 200, `${name} at ${path}`)
        for (const token of hostile) assert.equal(await send(token), 401, `${name} at ${path}`)
      }
    }
    await child.kill()
    const urls = [auth.env.DATABASE_URL, ...[auth.redis, revocations, rates].map(({ url }) => url('auth'))]
    const stores = urls.map((store) => new URL(store ?? '').host)
    const connections = new Set(child.stderr().trim().split('\n'))
    assert.deepEqual(connections, new Set(stores.map((store) => `TCPCONNECTWRAP ${store}`)))
    // The server in this process has the first for everything.
    assert.ok((await kindsOn(auth.redis)).includes('assertion'))
    const kinds = [await kindsOn(revocations), await kindsOn(rates)]
    assert.deepEqual(kinds, [['revocation'], ['rate', 'refusals', 'requests']])
  })
})
