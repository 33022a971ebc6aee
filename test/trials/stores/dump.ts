import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { migrate } from '../../../infra/database/migrate.ts'
import { firstExecutable } from '../../../infra/local/child.ts'
import { type LocalPostgres, startPostgres } from '../../../infra/local/postgres.ts'
import { runAdmin } from '../../support/admin.ts'
import { createClient } from '../../support/auth.ts'
import { freePort } from '../../support/ports.ts'
import { asAdmin } from '../../support/revocation.ts'
import { createTestRedis } from '../../support/servers.ts'
import { type Check, openDatabase } from './check.ts'
import { type Installation, startInstallation } from './installation.ts'

const run = promisify(execFile)
const LOGGED_MAX_MS = 10_000
const VERSIONS = [18, 17, 16, 15]
const PASSWORDS = { integration_auth: 'auth-role', integration_api: 'api-role' }

/** The programs of one version, pg_dump among them, which the npm package lacks. */
async function programs(): Promise<
  Record<'initdb' | 'postgres' | 'pg_dump' | 'pg_restore' | 'psql', string>
> {
  const given = process.env.TEST_POSTGRES_BIN
  const folders = given ? [given] : VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin`)
  const pgDump = await firstExecutable(folders, ['pg_dump'])
  if (!pgDump) throw new Error(`no pg_dump in ${folders.join(' or ')}: apt-get install postgresql`)
  const beside = (name: string) => join(pgDump, '..', name)
  return {
    initdb: beside('initdb'),
    postgres: beside('postgres'),
    pg_dump: pgDump,
    pg_restore: beside('pg_restore'),
    psql: beside('psql'),
  }
}

const urlAs = (server: LocalPostgres, user: string, password: string): string =>
  Object.assign(new URL(server.url('integration')), { username: user, password }).href

/** A server with the owner and the database of a first installation, as the runbook says. */
async function newServer(options: Parameters<typeof startPostgres>[0]) {
  const server = await startPostgres(options)
  const db = openDatabase(server.url('postgres'))
  await db.raw(`create role integration_owner login createrole password 'owner'`)
  await db.raw('create database integration owner integration_owner')
  await db.destroy()
  return {
    server,
    ownerUrl: urlAs(server, 'integration_owner', 'owner'),
    databaseUrls: {
      auth: urlAs(server, 'integration_auth', PASSWORDS.integration_auth),
      api: urlAs(server, 'integration_api', PASSWORDS.integration_api),
    },
  }
}

async function loggedRevoked({ api }: Installation, clientId: string): Promise<void> {
  const isIt = (line: Record<string, unknown>) =>
    line.event === 'client.revoked' && line.clientId === clientId
  for (const end = performance.now() + LOGGED_MAX_MS; !api.lines.some(isIt); await sleep(50))
    if (performance.now() > end) throw new Error('the revocation was not logged in time')
}

/** pg_dump, another server, pg_restore, an empty Redis: as the runbook says, with both services. */
export async function dumped(): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-dump-'))
  await chmod(folder, 0o755)
  const { pg_dump, pg_restore, psql, ...server } = await programs()
  const options = async (name: string) => ({
    directory: join(folder, name),
    port: await freePort(),
    password: 'x',
    programs: server,
  })
  const redis = await createTestRedis(folder)
  const keyEncryptionKey = randomBytes(32).toString('base64')
  const first = await newServer(await options('first'))
  await migrate({ ownerUrl: first.ownerUrl, passwords: PASSWORDS })
  const owner = openDatabase(first.ownerUrl)
  const kept = await createClient(owner, {})
  const { vendorId } = kept
  const [before, after] = [await createClient(owner, { vendorId }), await createClient(owner, { vendorId })]
  await owner.raw(
    `insert into analytics_daily (vendor_id, date, impressions, clicks, last_event_at)
     values (?, current_date - 1, 1000, 10, now())`,
    [vendorId],
  )
  await owner.destroy()
  const services = await startInstallation({ ...first, redis, keyEncryptionKey })
  const oldToken = await services.token(kept)
  const figures = await services.daily(kept, oldToken.accessToken)
  const env = (ownerUrl: string) => ({ DATABASE_URL: ownerUrl, REDIS_URL: redis.url('api') })
  const revoke = (clientId: string) =>
    runAdmin(['client', 'revoke', vendorId, clientId, '--yes'], { env: env(first.ownerUrl) })
  await revoke(before.clientId)
  const file = join(folder, 'integration.dump')
  await run(pg_dump, ['--format=custom', `--file=${file}`, first.ownerUrl])
  const since = new Date()
  await revoke(after.clientId)
  await loggedRevoked(services, after.clientId)
  await services.stop()
  const logs = await Promise.all(
    services.logs().map(async (lines, i) => {
      const log = join(folder, `${i}.log`)
      await writeFile(log, lines)
      return log
    }),
  )
  await first.server.kill()
  await asAdmin(redis, (all) => all.flushall())

  const second = await newServer(await options('second'))
  await run(psql, [
    second.ownerUrl,
    '-c',
    'create role integration_auth',
    '-c',
    'create role integration_api',
    '-c',
    'create role integration_operator',
  ])
  await run(pg_restore, ['--exit-on-error', `--dbname=${second.ownerUrl}`, file])
  await migrate({ ownerUrl: second.ownerUrl, passwords: PASSWORDS })
  const restored = await startInstallation({ ...second, redis, keyEncryptionKey })
  const fencedStatus = (await restored.token(kept)).status
  let readiness = ''
  for (const end = performance.now() + 10_000; !/operator/.test(readiness) && performance.now() < end; )
    readiness = await sleep(100).then(async () => (await fetch(`${restored.apiUrl}/readyz`)).text())
  const fence = await runAdmin(
    ['restore', 'fence', '--yes', '--since', since.toISOString(), ...logs.flatMap((log) => ['--log', log])],
    { env: env(second.ownerUrl) },
  )
  const confirm = await runAdmin(['restore', 'confirm'], { env: env(second.ownerUrl) })
  process.stdout.write(`${fence.stdout}${fence.stderr}${confirm.stdout}${confirm.stderr}`)
  const statuses = await Promise.all(
    [kept, before, after].map(async (each) => (await restored.token(each)).status),
  )
  const again = await restored.daily(kept, oldToken.accessToken)
  await restored.stop()
  await second.server.stop()
  await redis.stop('SIGKILL')
  await rm(folder, { recursive: true })
  return [
    ['before, there are figures', figures.status === 200 && figures.text.includes('1000')],
    ['the restored database lets nobody in', fencedStatus === 503],
    ['and says what it waits for', readiness.includes('an operator: the database was restored')],
    ['the operator revokes again what the log proves, and confirms', fence.code === 0 && confirm.code === 0],
    ['revoked is what was revoked, before and after the dump', statuses.join() === '200,401,401'],
    ['a token from before is valid, and reads the same figures', again.text === figures.text],
  ]
}
