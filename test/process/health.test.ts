import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { listen } from '#shared/process/http-server.ts'
import type { Log } from '#shared/process/log.ts'
import { createLease } from '#shared/revocation/lease.ts'
import type { Redis } from '#shared/stores/redis.ts'
import { redisReady } from '#shared/stores/redis-ready.ts'
import { connectRedis, type RedisWatch, watchRedis } from '#shared/stores/redis-watch.ts'
import { readDatabaseState } from '../../apps/api/revocation/database-state.ts'
import { markSchema, SCHEMA_NEEDED, SCHEMA_SERVES_FROM } from '../../apps/api/stores/database-checks.ts'
import { sharedApi } from '../support/api.ts'
import { sharedAuth } from '../support/auth.ts'
import { afterwards, forBlock } from '../support/block.ts'
import { createCertificate } from '../support/certificates.ts'
import { readInfra } from '../support/deployment.ts'
import { eventually } from '../support/eventually.ts'
import { createTestLog, silentLog } from '../support/log.ts'
import { freePort } from '../support/ports.ts'
import { preloading, type ServiceChild, startServiceChild } from '../support/process.ts'
import { serviceRedis } from '../support/redis.ts'
import { asAdmin, FAST, replicate, through } from '../support/revocation.ts'
import { createTestRedis } from '../support/servers.ts'
import { connectedDatabase, fromBeside, PATIENT } from '../support/stores.ts'
import { createTcpProxy } from '../support/tcp-proxy.ts'

/** Lets the ten seconds pass at once that a stopping service waits for its requests. */
const SHORT_DRAIN = preloading(`
  const { setTimeout } = globalThis
  globalThis.setTimeout = (run, ms, ...values) => setTimeout(run, ms === 10_000 ? 0 : ms, ...values)`)
const MIGRATIONS = join(import.meta.dirname, '../../infra/database/migrations')

/** Returns the statements that the runbook gives `psql -c` against a failure. */
function printedCure(failure: string): string[] {
  const [row = ''] = new RegExp(`^\\| ${failure} .*$`, 'm').exec(readInfra('runbook/failures.md')) ?? []
  return [...row.matchAll(/ -c '([^']+)'/g)].map(([, sql = '']) => sql)
}

describe('GET /readyz of the resource API', () => {
  const api = sharedApi()
  afterEach(() => markSchema(api.db, SCHEMA_NEEDED))

  const readiness = async () => {
    const { status, json } = await api.request('GET', '/readyz')
    return [status, json]
  }

  it('answers 200 on a migrated database', async () => {
    // On a busy machine the lease on Redis may lapse until its next renewal.
    await eventually(async () => isDeepStrictEqual(await readiness(), [200, { status: 'ready' }]), {
      otherwise: () => 'never ready with both stores',
    })
  })

  it('answers 200 on a database of a newer version that serves this one', async () => {
    await markSchema(api.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED)
    assert.equal((await readiness())[0], 200)
  })

  for (const [what, damage, waitingFor] of [
    ['was not migrated far enough', () => markSchema(api.db, SCHEMA_NEEDED - 1), 'migrations'],
    ['lacks its tables', () => api.db.raw('alter table companies rename to away'), 'migrations'],
    [
      'is too new',
      () => markSchema(api.db, SCHEMA_NEEDED + 5, SCHEMA_NEEDED + 1),
      'a newer version of this service: the database was made for it',
    ],
  ] as const)
    it(`answers 503 on a database that ${what}`, async () => {
      await damage()
      await using _ = afterwards(() => api.db.raw('alter table if exists away rename to companies'))
      assert.deepEqual(await readiness(), [503, { status: 'not ready', waitingFor: [waitingFor] }])
    })

  it('reports a database that takes no writes, and lets people read, until the cure of the runbook has been run', async () => {
    const { ownerUrl } = api.database
    const { sessionToken: token } = await api.createPerson()
    const name = new URL(ownerUrl).pathname.slice(1)
    await fromBeside(
      ownerUrl,
      `alter database ${name} set default_transaction_read_only = on`,
      // Only new connections begin with the default.
      `select pg_terminate_backend(pid) from pg_stat_activity
       where usename = 'integration_api' and datname = '${name}'`,
    )
    // It asks as /readyz does, on one connection. The API's pool may open a second, which hides the first.
    const db = api.database.connect('api')
    const isReadOnly = async () => (await readDatabaseState(db)).isReadOnly
    const answers = (degraded: object) => async () =>
      isDeepStrictEqual(await readiness(), [200, { status: 'ready', ...degraded }])
    await eventually(answers({ degraded: ['read-only'] }))
    assert.equal(await isReadOnly(), true)
    // Its last use is recorded once a minute.
    api.clock.advance(60_000)
    assert.equal((await api.request('GET', '/v1/session', { token })).status, 200)
    await using owner = connectedDatabase(ownerUrl)
    for (const sql of printedCure('Postgres takes no writes'))
      await owner.raw(sql.replace('integration', name))
    await eventually(async () => !(await isReadOnly()), { limit_ms: 10_000 })
    await eventually(answers({}))
  })

  it('requires the newest migration, and serves no older code than there is', () => {
    const newest = Math.max(...readdirSync(MIGRATIONS).map((name) => Number.parseInt(name, 10)))
    assert.equal(SCHEMA_NEEDED, newest, 'a migration was added: does this code need it?')
    assert.ok(SCHEMA_SERVES_FROM <= SCHEMA_NEEDED)
  })
})

/** A watch of a connection that only the ticks of a lease use. */
function ticking(redis: Redis, log: Log, tick_ms: number): RedisWatch {
  const watch = watchRedis({ redis, log, name: 'redis' })
  const timings = { ...FAST, tick_ms }
  createLease({ redis, timings, monotonic: () => performance.now(), onTick: watch.report })
  return watch
}

describe('a Redis that refuses', () => {
  const redis = forBlock(createTestRedis)
  const { pem: cert, keyPem: key } = createCertificate({ commonName: 'redis' })
  const tls = createServer({ cert, key })
  let tlsPort: number
  before(async () => {
    tlsPort = await listen(tls as never, { host: '127.0.0.1', port: 0 })
  })
  after(() => void tls.close())

  /** What the log says of a connection by this URL, and what the watch tells. */
  async function watched(url: string) {
    const { log, lines } = createTestLog()
    using connection = serviceRedis(url, PATIENT)
    const watch = ticking(connection, log, 25)
    await eventually(() => lines.length > 0, { otherwise: () => 'nothing was logged' })
    return { lines, trouble: watch.trouble() }
  }

  for (const [what, url, reason] of [
    ['by the password', () => redis.url('api').replace(':c@', ':hunter2@'), /^WRONGPASS /],
    ['for want of a password', () => redis.url('api').replace('api:c@', ''), /^NOAUTH /],
    ['since nothing listens', () => 'redis://127.0.0.1:1', /ECONNREFUSED/],
    ['since its certificate is unknown', () => `rediss://127.0.0.1:${tlsPort}`, /self-signed certificate/],
  ] as const)
    it(`logs ${what} once, with its own reason and no password`, async () => {
      const { lines, trouble } = await watched(url())
      assert.equal(lines.map(({ event }) => event).join(), 'redis.unusable')
      for (const text of [lines[0]?.reason, trouble]) assert.match(String(text), reason)
      assert.doesNotMatch(JSON.stringify(lines), /hunter2/)
    })

  it('logs what follows from a cause no more than once, also after a command that timed out', () => {
    const { log, lines } = createTestLog()
    using connection = serviceRedis(redis.url('api'), PATIENT)
    const { report } = watchRedis({ redis: connection, log, name: 'redis' })
    const reasons = ["Cluster isn't ready", 'Command timed out']
    for (const message of [...reasons, 'Failed to refresh slots cache.']) report(new Error(message))
    const logged = lines.map(({ reason }) => reason)
    assert.deepEqual(logged, reasons)
  })

  for (const [name, refusing] of [
    ['REDIS_URL', 'redis'],
    ['REVOCATION_REDIS_URL', 'revocation'],
  ] as const)
    it(`reports one refusing Redis of two as degraded, by name: ${name}`, async () => {
      const urls = { REDIS_URL: redis.url('api'), REVOCATION_REDIS_URL: redis.url('api') }
      const { log, lines } = createTestLog()
      const wrong = redis.url('api').replace(':c@', ':hunter2@')
      const connections = connectRedis({ ...urls, [name]: wrong }, { name: 'test', log })
      await using _ = afterwards(() => connections.close())
      await eventually(() => connections.degraded().length > 0)
      const reported = lines.map((line) => line.redis)
      assert.deepEqual([connections.degraded(), reported], [['redis'], [refusing]])
    })

  it('is degraded by a former primary for seconds, not until that closes the connection', async () => {
    await using primary = await createTestRedis()
    await using former = await createTestRedis()
    await using network = await createTcpProxy(former.port)
    using connection = serviceRedis(through(former.url('api'), network))
    const { log, lines } = createTestLog()
    const watch = ticking(connection, log, 25)
    await redisReady(connection)
    await eventually(() => watch.trouble() === undefined)
    await replicate(primary, former)
    network.move(primary.port)
    await eventually(() => lines.some(({ reason }) => String(reason).startsWith('READONLY ')))
    await eventually(() => watch.trouble() === undefined && connection.status === 'ready', {
      limit_ms: 5_000,
    })
  })

  const narrow = '+auth +hello +ping +info +client|setname'.split(' ')
  const mayDo = (...rules: string[]) =>
    asAdmin(redis, (admin) => admin.call('ACL', 'SETUSER', 'narrow', 'reset', 'on', '>n', ...rules))
  const narrowUrl = () => redis.url('api').replace('api:c@', 'narrow:n@')

  it('logs what a Redis user may not do', async () => {
    await mayDo(...narrow)
    const { lines } = await watched(narrowUrl())
    assert.match(String(lines[0]?.reason), /^NOPERM .*eval/)
  })

  it('stays degraded until Redis permits, though only the other is asked about revocations', async () => {
    await mayDo(...narrow)
    const urls = { REDIS_URL: narrowUrl(), REVOCATION_REDIS_URL: redis.url('api') }
    const connections = connectRedis(urls, { name: 'test', log: silentLog() })
    await using _ = afterwards(() => connections.close())
    await eventually(() => connections.degraded().length > 0)
    await mayDo(...narrow, '~rate:*', '+set')
    await eventually(() => connections.degraded().length === 0)
  })
})

describe('a service with a Redis that refuses it', () => {
  const api = sharedApi()
  const auth = sharedAuth()
  const children: ServiceChild[] = []
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()))
  })

  const environments = { auth: () => auth.env, api: () => api.env }

  async function start(name: 'auth' | 'api', env: Record<string, string>) {
    const port = await freePort()
    const settings = { PORT: String(port), KEEP_ALIVE_TIMEOUT_S: '620', ...env }
    const child = startServiceChild(`apps/${name}/main.ts`, { ...environments[name](), ...settings })
    children.push(child)
    return { child, url: `http://127.0.0.1:${port}` }
  }

  for (const name of ['auth', 'api'] as const) {
    it(`reports that Redis is unusable, and drains for DRAIN_DELAY_S: ${name}`, async () => {
      const wrong = new URL(environments[name]().REDIS_URL as string)
      wrong.password = 'hunter2'
      const env = { DRAIN_DELAY_S: '4', NODE_OPTIONS: SHORT_DRAIN }
      const { child, url } = await start(name, { REDIS_URL: wrong.href, ...env })
      await child.logged('ready')
      const refused = ({ event, reason }: Record<string, unknown>) =>
        event === 'redis.unusable' && String(reason).startsWith('WRONGPASS ')
      const otherwise = () => 'the reason that Redis gives is not in the log'
      await eventually(() => child.lines.some(refused), { otherwise })
      const ready = await fetch(`${url}/readyz`)
      const body = { status: 'ready', degraded: ['redis'] }
      assert.deepEqual([ready.status, await ready.json()], [200, body])
      assert.doesNotMatch(JSON.stringify(child.lines), /hunter2/)
      await takesLeave(child, url)
    })

    it(`gives up a command that Redis does not answer before its whole connection: ${name}`, async () => {
      const { child } = await start(name, {})
      await child.logged('ready')
      const gaveUp = ({ event, reason }: Record<string, unknown>) =>
        event === 'redis.unusable' && reason === 'Command timed out'
      const pause = () =>
        asAdmin((name === 'auth' ? auth : api).redis, (redis) => redis.call('CLIENT', 'PAUSE', '3000', 'ALL'))
      // On a busy machine it may send nothing while Redis pauses.
      await eventually(async () => child.lines.some(gaveUp) || void (await pause()), { every_ms: 3_500 })
    })

    it(`refuses to work as the role of the other service: ${name}`, async () => {
      const { apiUrl, authUrl } = (name === 'auth' ? auth : api).database
      const { child } = await start(name, { DATABASE_URL: name === 'auth' ? apiUrl : authUrl })
      const other = name === 'auth' ? 'api' : 'auth'
      const sentence = `DATABASE_URL: logs in as integration_${other}; this service runs only as integration_${name}\n`
      assert.deepEqual([(await child.exit).code, child.stderr()], [78, sentence])
    })
  }

  /** It takes requests for DRAIN_DELAY_S after SIGTERM, and tells everybody to go. */
  async function takesLeave(child: ServiceChild, url: string): Promise<void> {
    const before = await fetch(`${url}/healthz`)
    assert.equal(before.headers.get('keep-alive'), 'timeout=620')
    child.process.kill('SIGTERM')
    const killedAt = performance.now()
    const ready = () => fetch(`${url}/readyz`)
    const otherwise = () => '/readyz did not become 503'
    await eventually(async () => (await ready()).status === 503, { otherwise })
    assert.deepEqual((await (await ready()).json()).waitingFor, ['end'])
    // As npm passes on the Ctrl-C that the terminal has sent already.
    child.process.kill('SIGTERM')
    const served = await fetch(`${url}/healthz`)
    assert.deepEqual([served.status, served.headers.get('connection')], [200, 'close'])
    // One whose head never ends is cut.
    const endless = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    endless.write('GET /healthz HTTP/1.1\r\n')
    assert.deepEqual(await child.exit, { code: 0, signal: null })
    assert.ok(performance.now() - killedAt >= 4_000, 'it went early')
    await assert.rejects(ready())
  }
})
