import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { firstExecutable } from '../../../infra/local/child.ts'
import { startAuth, type TestAuth, tokenFields } from '../../support/auth.ts'
import { freePort } from '../../support/ports.ts'
import { startServiceChild } from '../../support/process.ts'
import type { Check } from './check.ts'

const NOBODY = 65534
const READS = 480
const AT_ONCE = 24
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin']

async function startPgBouncer(
  auth: TestAuth,
  folder: string,
): Promise<{ port: number; stop(): Promise<void> }> {
  const program = await firstExecutable(FOLDERS, ['pgbouncer'])
  if (!program) throw new Error('pgbouncer is not installed: apt-get install pgbouncer')
  const { hostname, port: target } = new URL(auth.database.ownerUrl)
  const port = await freePort()
  const users = [auth.database.authUrl, auth.database.apiUrl].map((url) => new URL(url))
  await writeFile(
    join(folder, 'users'),
    users.map((user) => `"${user.username}" "${user.password}"\n`).join(''),
  )
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${target}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${folder}/users`,
    'pool_mode = transaction',
    'default_pool_size = 4',
  ]
  await writeFile(join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`)
  const ids = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const child = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'inherit', ...ids })
  await sleep(500)
  return {
    port,
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

export async function pooled(): Promise<Check[]> {
  const auth = await startAuth({ env: { RATE_TOKEN_PER_CLIENT: '1000000/60' } })
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-pooler-'))
  await chmod(folder, 0o755)
  const bouncer = await startPgBouncer(auth, folder)
  const through = (url: string) => {
    const other = new URL(url)
    other.port = String(bouncer.port)
    return other.href
  }
  const [authPort, apiPort] = [await freePort(), await freePort()]
  const pooler = { DATABASE_POOLER: 'transaction' }
  const authEnv = { ...auth.env, DATABASE_URL: through(auth.database.authUrl), PORT: String(authPort) }
  const unannounced = startServiceChild('apps/auth/main.ts', authEnv)
  const { code } = await unannounced.exit
  const services = [startServiceChild('apps/auth/main.ts', { ...authEnv, ...pooler })]
  await services[0]?.logged('ready')
  services.push(
    startServiceChild('apps/api/main.ts', {
      ...pooler,
      DATABASE_URL: through(auth.database.apiUrl),
      REDIS_URL: auth.redis.url('api'),
      ISSUER: auth.env.ISSUER as string,
      API_RESOURCE: auth.env.API_RESOURCE as string,
      JWKS_URL: `http://127.0.0.1:${authPort}/v1/oauth/jwks`,
      RATE_API_PER_CLIENT: '1000000/60',
      PORT: String(apiPort),
    }),
  )
  await services[1]?.logged('ready')
  const statuses = new Map<string, number>()
  const count = (what: string) => statuses.set(what, (statuses.get(what) ?? 0) + 1)
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let i = 0; i < READS / AT_ONCE; i += 1) {
        const client = await auth.createClient()
        const body = new URLSearchParams(tokenFields(client))
        const token = await fetch(`http://127.0.0.1:${authPort}/v1/oauth/token`, { method: 'POST', body })
        count(`token ${token.status}`)
        const { access_token } = (await token.json()) as { access_token: string }
        const headers = { Authorization: `Bearer ${access_token}` }
        const daily = await fetch(`http://127.0.0.1:${apiPort}/v1/analytics/${client.vendorId}/daily`, {
          headers,
        })
        count(`daily ${daily.status}`)
        await daily.text()
      }
    }),
  )
  await Promise.all(services.map((service) => service.kill()))
  await bouncer.stop()
  await auth.stop()
  await rm(folder, { recursive: true })
  process.stdout.write(`${JSON.stringify(Object.fromEntries(statuses))} ${unannounced.stderr()}`)
  return [
    ['an unannounced pooler is refused', code === 78 && unannounced.stderr().includes('DATABASE_POOLER')],
    ['all token requests are answered', statuses.get('token 200') === READS],
    ['all reads are answered', statuses.get('daily 200') === READS],
  ]
}
