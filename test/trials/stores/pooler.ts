import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { firstExecutable } from '../../../infra/local/child.ts'
import { startAuth, TEST_ISSUER, TEST_RESOURCE, type TestAuth, tokenFields } from '../../support/auth.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { startServiceChild } from '../../support/process.ts'
import { through } from '../../support/revocation.ts'
import { createTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import type { Check } from '../checks.ts'
import { type Count, underLoad } from '../load.ts'

const DEPLOY = join(import.meta.dirname, '../../../infra/deploy')
const SHIPPED = join(DEPLOY, 'kubernetes/components/pgbouncer/pgbouncer.ini')
const NOBODY = 65534
const AWAY_MS = 1_000
const CALLERS = 24
const LOAD_MS = 8_000
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin']

/** The shipped file, with what differs here. */
async function configuration(folder: string, { port, target }: { port: number; target: number }) {
  const here: Record<string, string> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    auth_file: `${folder}/users`,
    default_pool_size: '4',
  }
  const lines = (await readFile(SHIPPED, 'utf8')).split('\n').map((line) => {
    const [name = ''] = line.split(' = ')
    if (name === 'integration') return `* = host=127.0.0.1 port=${target}`
    return here[name] === undefined ? line : `${name} = ${here[name]}`
  })
  return lines.join('\n')
}

async function startPgBouncer(auth: TestAuth, { folder, target }: { folder: string; target: number }) {
  const program = await firstExecutable(FOLDERS, ['pgbouncer'])
  if (!program) throw new Error('pgbouncer is not installed: apt-get install pgbouncer')
  const port = await freePort()
  const users = [auth.database.authUrl, auth.database.apiUrl].map((url) => new URL(url))
  const lines = users.map(({ username, password }) => `"${username}" "${password}"\n`)
  await writeFile(join(folder, 'users'), lines.join(''))
  await writeFile(join(folder, 'pgbouncer.ini'), await configuration(folder, { port, target }))
  const ids = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'inherit', ...ids })
  await sleep(500)
  return {
    port,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

/** How long the API is without its database after Postgres was away for a second. */
async function outageOf(network: TcpProxy, readyz: string): Promise<number> {
  const ready = async () => (await fetch(readyz)).status === 200
  network.cut()
  await eventually(async () => !(await ready()), { otherwise: () => 'PgBouncer does not notice' })
  await sleep(AWAY_MS)
  network.heal()
  const healed_ms = performance.now()
  await eventually(ready)
  return performance.now() - healed_ms
}

export async function pooled(): Promise<Check[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'integration-access-pooler-'))
  await chmod(folder.path, 0o755)
  await using auth = await startAuth({ env: { RATE_TOKEN_PER_CLIENT: '1000000/60' } })
  await using network = await createTcpProxy(Number(new URL(auth.database.ownerUrl).port))
  await using bouncer = await startPgBouncer(auth, { folder: folder.path, target: network.port })
  const [authPort, apiPort] = [await freePort(), await freePort()]
  const pooler = { DATABASE_POOLER: 'transaction' }
  const databaseUrl = through(auth.database.authUrl, bouncer)
  const authEnv = { ...auth.env, DATABASE_URL: databaseUrl, PORT: String(authPort) }
  const unannounced = startServiceChild('apps/auth/main.ts', authEnv)
  const { code } = await unannounced.exit
  await using authService = startServiceChild('apps/auth/main.ts', { ...authEnv, ...pooler })
  await authService.logged('ready')
  await using apiService = startServiceChild('apps/api/main.ts', {
    ...pooler,
    DATABASE_URL: through(auth.database.apiUrl, bouncer),
    REDIS_URL: auth.redis.url('api'),
    ISSUER: TEST_ISSUER,
    API_RESOURCE: TEST_RESOURCE,
    JWKS_URL: `http://127.0.0.1:${authPort}/v1/oauth/jwks`,
    RATE_API_PER_CLIENT: '1000000/60',
    PORT: String(apiPort),
  })
  await apiService.logged('ready')
  const answerTo = async (port: number, path: string, init: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    return { status: response.status, body: (await response.json()) as { access_token?: string } }
  }
  // Each client is new, so that its record is read from Postgres.
  const call = async (count: Count) => {
    const client = await auth.createClient()
    const body = new URLSearchParams(tokenFields(client))
    const token = await count('token', () => answerTo(authPort, '/v1/oauth/token', { method: 'POST', body }))
    const headers = { Authorization: `Bearer ${token?.access_token}` }
    await count('read', () => answerTo(apiPort, `/v1/analytics/${client.vendorId}/daily`, { headers }))
  }
  const { requests, losses } = await underLoad(CALLERS, call, () => sleep(LOAD_MS))
  const outage_ms = await outageOf(network, `http://127.0.0.1:${apiPort}/readyz`)
  process.stdout.write(
    `${requests} requests, lost: ${losses.join('; ') || 'none'}; again after ${Math.round(outage_ms)} ms; ${unannounced.stderr()}`,
  )
  return [
    ['an unannounced pooler is refused', code === 78 && unannounced.stderr().includes('DATABASE_POOLER')],
    ['all token requests and reads are answered', requests > 100 && losses.length === 0],
    // With PgBouncer's own server_login_retry it would be up to 15 s.
    ['a Postgres that was away for a second is used again within 8', outage_ms < 8_000],
  ]
}
