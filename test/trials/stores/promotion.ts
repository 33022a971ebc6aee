import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '../../../infra/database/migrate.ts'
import { startPostgres } from '../../../infra/local/postgres.ts'
import { runAdmin } from '../../support/admin.ts'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { freePort } from '../../support/ports.ts'
import {
  asAdmin,
  createSubjects,
  newJti,
  revokeClient,
  revokeKey,
  revokeToken,
  startProcess,
} from '../../support/revocation.ts'
import { createTestRedis, otherPostgres } from '../../support/servers.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { type Check, openDatabase } from './check.ts'

const asApi = (url: string) => url.replace('postgres:x', 'integration_api:a')

/** An asynchronous standby takes over without the last commits, which Redis still knows. */
export async function promotion(): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-promotion-'))
  await chmod(folder, 0o755)
  const options = { password: 'x', programs: otherPostgres() }
  const [from, to] = [join(folder, 'primary'), join(folder, 'standby')]
  const primary = await startPostgres({ ...options, directory: from, port: await freePort() })
  const redis = await createTestRedis(folder)
  const db = openDatabase(primary.url('postgres'))
  await migrate({ ownerUrl: primary.url('postgres'), passwords: { integration_api: 'a' } })
  const subjects = await createSubjects(db)
  const { vendorId } = subjects
  const [kept, clientId, kid, jti] = [
    await subjects.newClient(),
    await subjects.newClient(),
    await subjects.newKey(),
    newJti(),
  ]
  const before = await startProcess({ redisUrl: redis.url('api'), databaseUrl: primary.url('postgres') })
  await before.untilTrusted()
  await baseBackup(db, { from, to })
  const network = await createTcpProxy(primary.port)
  await recoverWith(to, 'standby.signal', {
    primary_conninfo: `host=127.0.0.1 port=${network.port} user=postgres password=x`,
  })
  const standby = await startPostgres({ ...options, directory: to, port: await freePort() })
  network.cut()
  await revokeClient(before, { vendorId, clientId })
  await revokeKey(before, kid)
  await revokeToken(before, { clientId: kept, jti })
  await Promise.all([before.close(), db.destroy()])
  await primary.kill()
  await network.close()

  const url = standby.url('postgres')
  const own = openDatabase(url)
  await own.raw('select pg_promote()')
  const after = await startProcess({ redisUrl: redis.url('api'), databaseUrl: asApi(url) })
  await sleep(1_000)
  const asked = await after.ask({ clientId: kept })
  const round = await after.reconciler.round()
  const env = { DATABASE_URL: url, REDIS_URL: redis.url('api') }
  const fence = await runAdmin(['restore', 'fence', '--yes', '--since', new Date().toISOString()], { env })
  const confirm = await runAdmin(['restore', 'confirm'], { env })
  process.stdout.write(`${fence.stdout}${fence.stderr}${confirm.stdout}${confirm.stderr}`)
  await asAdmin(redis, (all) => all.flushall())
  await after.untilTrusted()
  const subjectsAsked = [{ clientId: kept }, { clientId }, { clientId: kept, kid }, { clientId: kept, jti }]
  const answers = await Promise.all(subjectsAsked.map((subject) => after.revocation.ask(subject)))
  await Promise.all([after.close(), own.destroy()])
  await standby.stop()
  await redis.stop('SIGKILL')
  await rm(folder, { recursive: true })
  return [
    ['until it is compared with Redis, it lets nobody in', asked === 'undecided by neither'],
    [
      'a round raises the fence',
      round.outcome === 'fenced' && round.reason.startsWith('the database has forgotten'),
    ],
    ['the operator revokes again what Redis proves and confirms', fence.code === 0 && confirm.code === 0],
    ['what was not revoked is live', answers[0] === 'live'],
    [
      'what was revoked stays so, even after Redis was emptied',
      JSON.stringify(answers.slice(1)) ===
        JSON.stringify([{ revoked: 'client' }, { revoked: 'key' }, { revoked: 'token' }]),
    ],
  ]
}
