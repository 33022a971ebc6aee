import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { eventually } from '../../support/eventually.ts'
import { restartEmpty, revokeClient } from '../../support/revocation.ts'
import { open, startSite } from './site.ts'

it('recovers to a moment before a revocation, with an empty Redis, and lets nobody in until it is confirmed', async () => {
  await using site = await startSite()
  const { primary, redis, db, vendorId } = site
  const [kept, revoked] = [await site.newClient(), await site.newClient()]
  await baseBackup(db, { from: site.directory('primary'), to: site.directory('recovered') })
  const { rows } = await db.raw('select clock_timestamp()::text as moment')
  await sleep(1_000)
  const before = await site.process(primary, 'postgres:x')
  await revokeClient(before, { vendorId, clientId: revoked })
  assert.match(await before.ask({ clientId: revoked }), /^client revoked/)
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
  await eventually(async () => !(await own.raw('select pg_is_in_recovery() as still')).rows[0].still)
  const after = await site.process(restored, 'integration_api:a')
  assert.equal(await after.ask({ clientId: revoked }), 'undecided by neither')
  assert.equal((await after.reconciler.round()).outcome, 'fenced')
  const repeated = ['client', 'revoke', vendorId, revoked, '--yes']
  await site.confirm(restored, new Date(rows[0].moment).toISOString(), repeated)
  assert.equal((await after.untilTrusted()).at(-1), 'marked')
  assert.equal(await after.ask({ clientId: kept }), 'live by redis')
  assert.equal(await after.ask({ clientId: revoked }), 'client revoked by redis')
})
