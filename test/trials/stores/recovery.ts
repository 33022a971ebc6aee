import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { restartEmpty, revokeClient } from '../../support/revocation.ts'
import type { Check } from '../checks.ts'
import { open, startSite } from './site.ts'

/** Recovery to a moment before a revocation, with an empty Redis. */
export async function pointInTime(): Promise<Check[]> {
  await using site = await startSite()
  const { primary, redis, db, subjects } = site
  const [kept, revoked] = [await subjects.newClient(), await subjects.newClient()]
  await baseBackup(db, { from: site.directory('primary'), to: site.directory('recovered') })
  const { rows } = await db.raw('select clock_timestamp()::text as moment')
  await sleep(1_000)
  const before = await site.process(primary, 'postgres:x')
  await revokeClient(before, { vendorId: subjects.vendorId, clientId: revoked })
  const forgotten = await before.ask({ clientId: revoked })
  await db.raw('select pg_switch_wal()')
  await Promise.all([before.close(), db.destroy()])
  await primary.stop()
  await restartEmpty(redis)

  await recoverWith(site.directory('recovered'), 'recovery.signal', {
    restore_command: `cp ${site.directory('archive')}/%f %p`,
    recovery_target_time: rows[0].moment,
    recovery_target_action: 'promote',
  })
  const restored = await site.start('recovered')
  await using own = open(restored)
  while ((await own.raw('select pg_is_in_recovery() as still')).rows[0].still) await sleep(100)
  const after = await site.process(restored, 'integration_api:a')
  const asked = await after.ask({ clientId: revoked })
  const round = await after.reconciler.round()
  const log = site.directory('api.log')
  const line = { time: new Date().toISOString(), event: 'client.revoked', clientId: revoked }
  await writeFile(log, `${JSON.stringify(line)}\n`)
  const isConfirmed = await site.confirm(restored, new Date(rows[0].moment).toISOString(), '--log', log)
  const trusted = await after.untilTrusted()
  const answers = [await after.ask({ clientId: kept }), await after.ask({ clientId: revoked })]
  await after.close()
  return [
    ['the client was revoked', forgotten.startsWith('client revoked')],
    ['the recovered database lets nobody in', asked === 'undecided by neither'],
    ['a round raises the fence', round.outcome === 'fenced'],
    ['the operator revokes it again and confirms', isConfirmed],
    ['then Redis is trusted', trusted.at(-1) === 'marked'],
    ['who was not revoked is let in', answers[0] === 'live by redis'],
    ['who was revoked is not', answers[1] === 'client revoked by redis'],
  ]
}
