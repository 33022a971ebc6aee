import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { READ_ONLY } from '#shared/stores/postgres.ts'
import { sqlState } from '../../../apps/api/stores/postgres-errors.ts'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { eventually } from '../../support/eventually.ts'
import { repeat } from '../../support/repeat.ts'
import { asAdmin, newJti, revokeClient, revokeKey, revokeToken, through } from '../../support/revocation.ts'
import { connectedDatabase } from '../../support/stores.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import { open, startSite } from './site.ts'

it('revokes again what a promoted asynchronous standby has lost and Redis knows, before it lets anybody in', async () => {
  await using site = await startSite()
  const { primary, redis, db, vendorId } = site
  const [kept, clientId] = [await site.newClient(), await site.newClient()]
  const [kid, jti] = [await site.newKey(), newJti()]
  const before = await site.process(primary, 'postgres:x')
  await before.untilTrusted()
  await baseBackup(db, { from: site.directory('primary'), to: site.directory('standby') })
  await using network = await createTcpProxy(primary.port)
  await recoverWith(site.directory('standby'), 'standby.signal', {
    primary_conninfo: `host=127.0.0.1 port=${network.port} user=postgres password=x`,
  })
  const standby = await site.start('standby')
  network.cut()
  await revokeClient(before, { vendorId, clientId })
  await revokeKey(before, kid)
  await revokeToken(before, { clientId: kept, jti })
  await Promise.all([before.close(), db.destroy()])
  await primary.kill()

  await using own = open(standby)
  await own.raw('select pg_promote()')
  const after = await site.process(standby, 'integration_api:a')
  await sleep(1_000)
  assert.equal(await after.ask({ clientId: kept }), 'undecided by neither')
  const round = await after.reconciler.round()
  assert.ok(
    round.outcome === 'fenced' && round.reason.startsWith('the database has forgotten'),
    round.outcome,
  )
  await site.confirm(standby, new Date().toISOString())
  await asAdmin(redis, (client) => client.flushall())
  await after.untilTrusted()
  const subjects = [{ clientId: kept }, { clientId }, { clientId: kept, kid }, { clientId: kept, jti }]
  assert.deepEqual(await Promise.all(subjects.map((subject) => after.revocation.ask(subject))), [
    'live',
    { revoked: 'client' },
    { revoked: 'key' },
    { revoked: 'token' },
  ])
})

it('writes again soon after the name of the primary has moved away from a standby, under load', async () => {
  await using site = await startSite()
  const { primary, db } = site
  await baseBackup(db, { from: site.directory('primary'), to: site.directory('standby') })
  await recoverWith(site.directory('standby'), 'standby.signal', {
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres password=x`,
  })
  await using name = await createTcpProxy((await site.start('standby')).port)
  await using pool = connectedDatabase(through(primary.url('postgres'), name), { poolSize: 4 })
  let [refusals, writtenAt_ms] = [0, 0]
  const write = async () => {
    await pool.raw('delete from restore_fences where false').then(
      () => {
        writtenAt_ms ||= performance.now()
      },
      (error) => {
        assert.equal(sqlState(error), READ_ONLY)
        refusals += 1
      },
    )
  }
  // Each keeps a connection in use, so that the pool closes none.
  const writers = [1, 2, 3].map(() => repeat(1, write))
  await eventually(() => refusals > 100)
  name.move(primary.port)
  const movedAt_ms = performance.now()
  await eventually(() => writtenAt_ms > 0, { limit_ms: 10_000 })
  await sleep(3_000)
  const before = refusals
  await sleep(1_000)
  assert.equal(refusals, before)
  for (const stop of writers) await stop()
  console.log(`first write ${Math.round(writtenAt_ms - movedAt_ms)} ms after the move`)
})
