import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '../../../infra/database/migrate.ts'
import { startPostgres } from '../../../infra/local/postgres.ts'
import { runAdmin } from '../../support/admin.ts'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { freePort } from '../../support/ports.ts'
import { createSubjects, revokeClient, startProcess } from '../../support/revocation.ts'
import { createTestRedis, otherPostgres } from '../../support/servers.ts'
import { type Check, openDatabase } from './check.ts'

/** Recovery to a moment before a revocation, with an empty Redis. */
export async function pointInTime(): Promise<Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-access-recovery-'))
  const archive = join(folder, 'archive')
  await mkdir(archive)
  await chmod(folder, 0o755)
  await chmod(archive, 0o777)
  const options = {
    password: 'x',
    programs: otherPostgres(),
    settings: { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` },
  }
  const [from, to] = [join(folder, 'before'), join(folder, 'after')]
  const primary = await startPostgres({ ...options, directory: from, port: await freePort() })
  const redis = await createTestRedis(folder)
  const db = openDatabase(primary.url('postgres'))
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
  const own = openDatabase(url)
  while ((await own.raw('select pg_is_in_recovery() as still')).rows[0].still) await sleep(100)
  const after = await startProcess({ redisUrl: empty.url('api'), databaseUrl: urlOf(url) })
  const asked = await after.ask({ clientId: revoked })
  const round = await after.reconciler.round()
  const log = join(folder, 'api.log')
  const line = { time: new Date().toISOString(), event: 'client.revoked', clientId: revoked }
  await writeFile(log, `${JSON.stringify(line)}\n`)
  const env = { DATABASE_URL: url, REDIS_URL: empty.url('api') }
  const since = new Date(rows[0].moment).toISOString()
  const fence = await runAdmin(['restore', 'fence', '--yes', '--since', since, '--log', log], { env })
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
