import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { asAdmin, newJti, revokeClient, revokeKey, revokeToken } from '../../support/revocation.ts'
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
