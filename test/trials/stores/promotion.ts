import { setTimeout as sleep } from 'node:timers/promises'
import { baseBackup, recoverWith } from '../../support/base-backup.ts'
import { asAdmin, newJti, revokeClient, revokeKey, revokeToken } from '../../support/revocation.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import type { Check } from '../checks.ts'
import { open, startSite } from './site.ts'

/** An asynchronous standby takes over without the last commits, which Redis still knows. */
export async function promotion(): Promise<Check[]> {
  await using site = await startSite()
  const { primary, redis, db, subjects } = site
  const { vendorId } = subjects
  const [kept, clientId] = [await subjects.newClient(), await subjects.newClient()]
  const [kid, jti] = [await subjects.newKey(), newJti()]
  const before = await site.process(primary, 'postgres:x')
  await before.untilTrusted()
  await baseBackup(db, { from: site.directory('primary'), to: site.directory('standby') })
  const network = await createTcpProxy(primary.port)
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
  await network.close()

  await using own = open(standby)
  await own.raw('select pg_promote()')
  const after = await site.process(standby, 'integration_api:a')
  await sleep(1_000)
  const asked = await after.ask({ clientId: kept })
  const round = await after.reconciler.round()
  const isConfirmed = await site.confirm(standby, new Date().toISOString())
  await asAdmin(redis, (all) => all.flushall())
  await after.untilTrusted()
  const subjectsAsked = [{ clientId: kept }, { clientId }, { clientId: kept, kid }, { clientId: kept, jti }]
  const answers = await Promise.all(subjectsAsked.map((subject) => after.revocation.ask(subject)))
  await after.close()
  return [
    ['until it is compared with Redis, it lets nobody in', asked === 'undecided by neither'],
    [
      'a round raises the fence',
      round.outcome === 'fenced' && round.reason.startsWith('the database has forgotten'),
    ],
    ['the operator revokes again what Redis proves and confirms', isConfirmed],
    ['what was not revoked is live', answers[0] === 'live'],
    [
      'what was revoked stays so, even after Redis was emptied',
      JSON.stringify(answers.slice(1)) ===
        JSON.stringify([{ revoked: 'client' }, { revoked: 'key' }, { revoked: 'token' }]),
    ],
  ]
}
