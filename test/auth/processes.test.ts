import { strict as assert } from 'node:assert'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { createRevocation, type Revocation } from '#shared/revocation/revocation.ts'
import { markClientRevoked } from '../../apps/api/clients/records.ts'
import { markSigningKeyRevoked } from '../../infra/admin/keys.ts'
import { sharedAuth, type TestClient, tokenFields } from '../support/auth.ts'
import { forBlock, forEachTest } from '../support/block.ts'
import { eventually } from '../support/eventually.ts'
import { withTakenPort } from '../support/ports.ts'
import { assertStatuses } from '../support/problem.ts'
import { preloading, type ServiceChild, startServiceChild } from '../support/process.ts'
import { run } from '../support/program.ts'

const MAIN = 'apps/auth/main.ts'

/** Has a process say on stderr that it loads the service's modules, and when it collects garbage. */
const WATCHED = preloading(`
  import { registerHooks } from 'node:module'
  const say = (what) => process.stderr.write(process.pid + ' ' + what + '\\n')
  registerHooks({
    load(url, context, next) {
      if (url.endsWith('apps/auth/service.ts')) say('loads')
      return next(url, context)
    },
  })
  Object.defineProperty(globalThis, 'gc', { value: ({ flavor }) => say('collects: ' + flavor) })`)

type Running = ServiceChild & { port: number }

async function tokenFrom(child: { port: number }, client: TestClient): Promise<Response> {
  const body = new URLSearchParams(tokenFields(client))
  return fetch(`http://127.0.0.1:${child.port}/v1/oauth/token`, { method: 'POST', body })
}

describe('processes of the authorization server', () => {
  const auth = sharedAuth()
  const client = forEachTest(() => auth.createClient())

  async function start(env: Record<string, string> = {}): Promise<Running> {
    const child = startServiceChild(MAIN, { ...auth.env, PORT: '0', ...env })
    const { port } = await child.logged('listening')
    await child.logged('ready')
    return { ...child, port: port as number }
  }

  it('load the service to check the settings, so that a build fills the cache of compiled code', async () => {
    const options = { cwd: join(import.meta.dirname, '../..'), env: { ...auth.env, NODE_OPTIONS: WATCHED } }
    const { stdout, stderr } = await run(process.execPath, [MAIN, '--check'], options)
    assert.equal(stdout, 'The settings are valid.\n')
    assert.match(stderr, /^\d+ loads$/m)
  })

  it('name the stores on other machines that are reached without TLS or by any certificate, and no value', async () => {
    const DATABASE_URL = 'postgres://integration_auth:hunter2@192.0.2.1/integration?sslmode=no-verify'
    const REDIS_URL = 'redis+sentinel://auth:hunter3@192.0.2.1:26379,127.0.0.1/main'
    const RATE_REDIS_URL = 'redis+cluster://auth:hunter5@192.0.2.2'
    const REVOCATION_REDIS_URL = 'redis://auth:hunter4@192.0.2.2'
    const urls = { DATABASE_URL, REDIS_URL, REVOCATION_REDIS_URL, RATE_REDIS_URL }
    await using child = startServiceChild(MAIN, { ...auth.env, PORT: '0', ...urls })
    await child.logged('RATE_REDIS_URL: leads to another machine without TLS')
    const warned = child.lines.filter(({ event }) => String(event).startsWith('store.'))
    const named = warned.map(({ event, variable }) => `${event} ${variable}`)
    const plain = ['REDIS_URL', 'REVOCATION_REDIS_URL', 'RATE_REDIS_URL'].map(
      (is) => `store.unencrypted ${is}`,
    )
    assert.deepEqual(named, ['store.unverified DATABASE_URL', ...plain])
    assert.doesNotMatch(JSON.stringify(child.lines), /hunter/)
    // It would wait for the machine that does not answer.
    child.process.kill('SIGKILL')
  })

  describe('two, side by side', () => {
    let revocation: Revocation
    const pair: Running[] = []

    before(async () => {
      const db = auth.database.connect('owner', { poolSize: 2 })
      revocation = createRevocation({ redis: await auth.redis.connect('api'), db })
      pair.push(await start(), await start())
    })
    after(() => Promise.all(pair.map((child) => child.kill())))

    it('refuse a client at both processes once its revocation is answered, whatever they remembered', async () => {
      // On a busy machine the first request of a process may be answered with 503.
      for (const child of pair) await eventually(async () => (await tokenFrom(child, client)).status === 200)
      await revocation.revoke({ kind: 'client', id: client.clientId }, (transaction) =>
        markClientRevoked(transaction, { ...client, revokedBy: null }),
      )
      for (const child of pair) {
        const refused = await tokenFrom(child, client)
        assert.deepEqual([refused.status, (await refused.json()).error], [401, 'invalid_client'])
      }
      const other = await auth.createClient()
      for (const child of pair) assert.equal((await tokenFrom(child, other)).status, 200)
    })

    it('neither publish nor sign with a key once its revocation is answered, and continue with one and the same', async () => {
      const fetchJwks = async ({ port }: Running) =>
        (await fetch(`http://127.0.0.1:${port}/v1/oauth/jwks`)).json()
      const [{ kid: old }] = (await fetchJwks(pair[0] as Running)).keys
      await revocation.revoke({ kind: 'key', id: old }, (transaction) =>
        markSigningKeyRevoked(transaction, old),
      )
      // Nothing is signed yet: a verifier must learn of the key by the key set, from an idle process too.
      for (const child of pair) {
        const kids = (await fetchJwks(child)).keys.map(({ kid }: { kid: string }) => kid)
        assert.ok(kids.length > 0 && !kids.includes(old))
      }
      const kids = new Set<string | undefined>()
      for (const child of pair) {
        const { access_token } = await (await tokenFrom(child, client)).json()
        const jwks = await fetchJwks(child)
        const { protectedHeader } = await jwtVerify(access_token, createLocalJWKSet(jwks))
        kids.add(protectedHeader.kid)
        assert.ok(!jwks.keys.some(({ kid }: { kid: string }) => kid === old))
      }
      assert.ok(kids.size === 1 && !kids.has(old))
    })

    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      it(`finish requests in flight, store every use, and exit with code 0 on ${signal}`, async () => {
        const child = pair.shift() as Running
        const writers = (await auth.db('usage_writers')).length
        const answers = Array.from({ length: 20 }, () => tokenFrom(child, client))
        await Promise.any(answers)
        child.process.kill(signal)
        const results = await Promise.allSettled(answers)
        const served = results.filter((result) => result.status === 'fulfilled')
        assert.ok(served.every((result) => result.value.status === 200))
        assert.deepEqual(await child.exit, { code: 0, signal: null })
        assert.equal(child.stderr(), '')
        const uses = await auth.db('client_usage_hourly').where({ client_id: client.clientId }).sum('tokens')
        assert.deepEqual(uses, [{ sum: String(served.length) }])
        assert.equal((await auth.db('usage_writers')).length, writers - 1)
      })
  })

  describe('two that share a port', () => {
    let writersBefore = 0
    const child = forBlock(async () => {
      writersBefore = await countWriters()
      return start({ PROCESSES: '2', NODE_OPTIONS: WATCHED })
    })

    const countWriters = async () => (await auth.db('usage_writers')).length
    const ready = () => child.lines.filter(({ msg }) => msg === 'ready').length

    it('load the service only where requests are served, and collect what loading left behind', async () => {
      await eventually(() => ready() === 2)
      const pids = (what: string) => {
        const lines = child.stderr().matchAll(new RegExp(`^(\\d+) ${what}$`, 'gm'))
        return new Set([...lines].map(([, pid]) => pid))
      }
      assert.equal(pids('loads').size, 2, child.stderr())
      assert.ok(!pids('loads').has(String(child.process.pid)), child.stderr())
      await eventually(() => pids('collects: last-resort').size === 2, { otherwise: child.stderr })
    })

    it('replace one that dies, leave it known that uses of it may be missing, and end with their parent', async () => {
      const issued = async () => (await tokenFrom(child, client)).status === 200
      await Promise.all(Array.from({ length: 10 }, () => eventually(issued)))
      assert.equal(child.lines.filter(({ msg }) => msg === 'listening').length, 1)

      const { pid: parent } = child.process
      const [worker] = (await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8')).split(' ')
      process.kill(Number(worker), 'SIGKILL')
      await child.logged('a process ended and is replaced')
      await eventually(() => ready() === 3)
      assert.equal(await countWriters(), writersBefore + 3)
      assert.equal((await tokenFrom(child, client)).status, 200)

      child.process.disconnect()
      assert.deepEqual(await child.exit, { code: 0, signal: null })
      await assert.rejects(tokenFrom(child, client))
      assert.equal(await countWriters(), writersBefore + 1)
    })
  })

  it('refuse a wrong configuration with one message that names every variable and no value', async () => {
    const child = startServiceChild(MAIN, { DATABASE_URL: 'mysql://hunter2', KEY_ENCRYPTION_KEY: 'hunter3' })
    assert.deepEqual([(await child.exit).code, child.lines], [78, []])
    assert.match(child.stderr(), /^The configuration is invalid:\n(?: {2}[A-Z_]+: .+\n){5}$/)
    assert.doesNotMatch(child.stderr(), /hunter/)
  })

  // A worker's exit code and message are passed on unchanged, so one process needs no test of its own.
  it('refuse another key encryption key with code 78, all of them', async () => {
    const KEY_ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64')
    const child = startServiceChild(MAIN, { ...auth.env, PORT: '0', KEY_ENCRYPTION_KEY, PROCESSES: '2' })
    assert.equal((await child.exit).code, 78)
    assert.match(child.stderr(), /KEY_ENCRYPTION_KEY/)
  })

  it('say that a port is taken, though they share it', () =>
    withTakenPort(async (port) => {
      const child = startServiceChild(MAIN, { ...auth.env, PORT: String(port), PROCESSES: '2' })
      assert.notEqual((await child.exit).code, 0)
      assert.match(child.stderr(), /EADDRINUSE/)
    }))

  it('wait, not ready, for a database that is not there yet', async () => {
    const missing = new URL(auth.env.DATABASE_URL as string)
    missing.pathname = '/not_there_yet'
    await using child = startServiceChild(MAIN, { ...auth.env, PORT: '0', DATABASE_URL: missing.href })
    const { port } = (await child.logged('listening')) as { port: number }
    // It tries again a second later.
    await eventually(() => child.lines.filter(({ msg }) => msg === 'not ready yet').length > 1)
    const health = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    const answers = [await health('/readyz'), await health('/healthz'), await tokenFrom({ port }, client)]
    assertStatuses(answers, 503, 200, 503)
  })
})
