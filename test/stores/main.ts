import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knex from 'knex'
import { firstExecutable } from '../../infra/local/child.ts'
import { freePort } from '../../infra/local/ports.ts'
import { startPostgres } from '../../infra/local/postgres.ts'
import { migrate } from '../../infra/migrate.ts'
import { runAdmin } from '../support/admin.ts'
import { startAuth, type TestAuth, tokenFields } from '../support/auth.ts'
import { baseBackup, recoverWith } from '../support/base-backup.ts'
import { startServiceChild } from '../support/process.ts'
import { createSubjects, revokeClient, startProcess } from '../support/revocation.ts'
import { createTestRedis, mochaGlobalSetup, mochaGlobalTeardown } from '../support/servers.ts'

/*
 * What takes too long for every run of the tests, or needs what not every machine has: recovery of Postgres to a point
 * in time, and the services behind PgBouncer in transaction mode (apt-get install pgbouncer).
 */
const NOBODY = 65534
const READS = 480
const AT_ONCE = 24
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/local/bin']

type Check = [what: string, holds: boolean]

async function pointInTime(): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-recovery-'))
  const archive = join(folder, 'archive')
  await mkdir(archive)
  await chmod(folder, 0o755)
  await chmod(archive, 0o777)
  const options = { password: 'x', settings: { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` } }
  const [from, to] = [join(folder, 'before'), join(folder, 'after')]
  const primary = await startPostgres({ ...options, directory: from, port: await freePort() })
  const redis = await createTestRedis(folder)
  const open = (url: string) => knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } })
  const db = open(primary.url('postgres'))
  const urlOf = (url: string) => url.replace('postgres:x', 'integration_api:a')
  await migrate({ ownerUrl: primary.url('postgres'), passwords: { integration_api: 'a' } })
  const subjects = await createSubjects(db)
  const [kept, revoked] = [await subjects.newClient(), await subjects.newClient()]
  await baseBackup(db, { from, to })
  const { rows } = await db.raw('select clock_timestamp()::text as moment')
  await sleep(1_000)
  const before = await startProcess({ redisUrl: redis.url('admin'), databaseUrl: primary.url('postgres') })
  await revokeClient(before, { vendorId: subjects.vendorId, clientId: revoked })
  const forgotten = await before.ask({ clientId: revoked })
  await db.raw('select pg_switch_wal()')
  await Promise.all([before.close(), db.destroy()])
  await primary.stop()
  await redis.stop('SIGKILL')

  await recoverWith(to, 'recovery.signal', {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_time: rows[0].moment,
    recovery_target_action: 'promote',
  })
  const restored = await startPostgres({ ...options, directory: to, port: await freePort() })
  const empty = await createTestRedis(folder)
  const url = restored.url('postgres')
  const own = open(url)
  while ((await own.raw('select pg_is_in_recovery() as still')).rows[0].still) await sleep(100)
  const after = await startProcess({ redisUrl: empty.url('api'), databaseUrl: urlOf(url) })
  const asked = await after.ask({ clientId: revoked })
  const round = await after.reconciler.round()
  const log = join(folder, 'api.log')
  const line = { time: new Date().toISOString(), event: 'client.revoked', clientId: revoked }
  await writeFile(log, `${JSON.stringify(line)}\n`)
  const env = { DATABASE_URL: url, REDIS_URL: empty.url('api') }
  const since = new Date(rows[0].moment).toISOString()
  const fence = await runAdmin(['restore', 'fence', '--since', since, '--log', log], { env })
  const confirm = await runAdmin(['restore', 'confirm'], { env })
  const trusted = await after.untilTrusted()
  const answers = [await after.ask({ clientId: kept }), await after.ask({ clientId: revoked })]
  process.stdout.write(`${fence.stdout}${fence.stderr}${confirm.stdout}${confirm.stderr}`)
  await Promise.all([after.close(), own.destroy()])
  await restored.stop()
  await empty.stop('SIGKILL')
  await rm(folder, { recursive: true })
  return [
    ['the client was revoked', forgotten.startsWith('client revoked')],
    ['the recovered database lets nobody in', asked === 'undecided by neither'],
    ['a round raises the fence', round.outcome === 'fenced'],
    ['the operator revokes it again and confirms', fence.code === 0 && confirm.code === 0],
    ['then Redis is trusted', trusted.at(-1) === 'marked'],
    ['who was not revoked is let in', answers[0] === 'live by redis'],
    ['who was revoked is not', answers[1] === 'client revoked by redis'],
  ]
}

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

async function pooled(): Promise<Check[]> {
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

const parts = { recovery: pointInTime, pooler: pooled }
const only = process.argv[2]
await mochaGlobalSetup()
try {
  for (const [name, part] of Object.entries(parts))
    if (only === undefined || only === name)
      for (const [what, holds] of await part()) {
        process.stdout.write(`${holds ? 'ok' : 'FAILED'}: ${name}: ${what}\n`)
        if (!holds) process.exitCode = 1
      }
} finally {
  await mochaGlobalTeardown()
}
