import assert from 'node:assert/strict'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readDatabaseState } from '../../../apps/api/revocation/database-state.ts'
import { migrate } from '../../../infra/database/migrate.ts'
import { asNobody, chownToNobody } from '../../../infra/local/child.ts'
import { type ApiResponse, startApi } from '../../support/api.ts'
import { startAuth } from '../../support/auth.ts'
import { readInfra } from '../../support/deployment.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { through } from '../../support/revocation.ts'
import { createTestDatabase, PASSWORDS } from '../../support/servers.ts'
import { connectedDatabase, fromBeside } from '../../support/stores.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { type Count, underLoad } from '../load.ts'
import { startProgram } from '../program.ts'

const AWAY_MS = 1_000
/** With PgBouncer's own server_login_retry it would be up to 15 s. */
const BACK_MAX_MS = 8_000
const CALLERS = 24
const LOAD_MS = 8_000
const ROOMY = '1000000/60'

/** Starts it with the runbook's settings, but for what differs here. `urls` have their users' passwords. */
async function startPgBouncer(folder: string, { target, urls }: { target: number; urls: string[] }) {
  const port = await freePort()
  const [users, file] = [join(folder, 'users'), join(folder, 'pgbouncer.ini')]
  const nameOf = ({ username, password }: URL) => `"${username}" "${decodeURIComponent(password)}"\n`
  const lines = urls.map((url) => nameOf(new URL(url)))
  await writeFile(users, lines.join(''))
  const here = Object.entries({
    integration: `* = host=127.0.0.1 port=${target}`,
    listen_addr: 'listen_addr = 127.0.0.1',
    listen_port: `listen_port = ${port}`,
    auth_file: `auth_file = ${users}`,
    default_pool_size: 'default_pool_size = 4',
  })
  const [, printed = ''] = /```ini\n(\[databases\].*?)```/s.exec(readInfra('runbook/install.md')) ?? []
  const changed = here.reduce(
    (text, [name, line]) => text.replace(new RegExp(`^${name} = .*`, 'm'), line),
    printed,
  )
  await writeFile(file, changed)
  await chownToNobody(folder, users, file)
  return { port, ...(await startProgram('pgbouncer', ['-q', file], port, asNobody)) }
}

it('serves behind PgBouncer in transaction mode, when it is announced, and again soon after an outage', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-pooler-'))
  await using direct = await startApi()
  const { authUrl, apiUrl } = direct.database
  await using network = await createTcpProxy(Number(new URL(apiUrl).port))
  await using bouncer = await startPgBouncer(folder.path, { target: network.port, urls: [authUrl, apiUrl] })
  // As each upgrade does, which changes what Postgres keeps of a password.
  await migrate({ ...direct.database, passwords: PASSWORDS })
  const unannounced = { RATE_TOKEN_PER_CLIENT: ROOMY, DATABASE_URL: through(authUrl, bouncer) }
  await assert.rejects(startAuth({ beside: direct, env: unannounced }), /DATABASE_POOLER=transaction/)
  const announced = { DATABASE_POOLER: 'transaction' }
  await using auth = await startAuth({ beside: direct, env: { ...unannounced, ...announced } })
  await using api = await startApi({
    beside: direct,
    env: {
      ...announced,
      DATABASE_URL: through(apiUrl, bouncer),
      JWKS_URL: `${auth.url}/v1/oauth/jwks`,
      RATE_API_PER_CLIENT: ROOMY,
    },
  })
  const withBody = (response: ApiResponse) => ({ ...response, body: response.json })
  // Each client is new, so that its record is read from Postgres.
  const call = async (count: Count) => {
    const client = await auth.createClient()
    const token = await count('token', () => auth.token(client).then(withBody))
    const path = `/v1/analytics/${client.vendorId}/daily`
    await count('read', () => api.request('GET', path, { token: token?.access_token }).then(withBody))
  }
  const { requests, losses } = await underLoad(CALLERS, call, () => sleep(LOAD_MS))
  assert.deepEqual(losses, [])
  assert.ok(requests > 100, `${requests} requests`)

  const isReady = async () => (await api.request('GET', '/readyz')).status === 200
  network.cut()
  await eventually(async () => !(await isReady()), { otherwise: () => 'PgBouncer does not notice' })
  await sleep(AWAY_MS)
  network.heal()
  const healed_ms = performance.now()
  await eventually(isReady, { limit_ms: BACK_MAX_MS, otherwise: () => 'it is not ready again in time' })
  console.log(`none of ${requests} requests lost; back after ${Math.round(performance.now() - healed_ms)} ms`)
})

it('takes writes again soon after default_transaction_read_only has gone, through PgBouncer', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-pooler-'))
  await using database = await createTestDatabase()
  const { apiUrl, ownerUrl } = database
  const target = Number(new URL(apiUrl).port)
  await using bouncer = await startPgBouncer(folder.path, { target, urls: [apiUrl] })
  const letWrite = (sql: string) =>
    fromBeside(ownerUrl, `alter database ${new URL(ownerUrl).pathname.slice(1)} ${sql}`)
  await letWrite('set default_transaction_read_only = on')
  await using db = connectedDatabase(through(apiUrl, bouncer), { pooled: true })
  const isReadOnly = async () => (await readDatabaseState(db)).isReadOnly
  assert.equal(await isReadOnly(), true)
  await letWrite('reset default_transaction_read_only')
  const cured_ms = performance.now()
  await eventually(async () => !(await isReadOnly()), { limit_ms: 90_000 })
  console.log(`took writes again after ${Math.round(performance.now() - cured_ms)} ms`)
})
