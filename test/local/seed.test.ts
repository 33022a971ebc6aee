import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database } from '#shared/stores/postgres.ts'
import { indexOfPassword } from '../../apps/api/accounts/passwords.ts'
import { openDataDir } from '../../infra/local/data-dir.ts'
import { ensureDemoClient } from '../../infra/local/demo-client.ts'
import { localSecrets } from '../../infra/local/secrets.ts'
import { holdsOnlyOthers, seed } from '../../infra/local/seed/seed.ts'
import { afterwards, forEachTest } from '../support/block.ts'
import { stoppedTime } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { sharedFolder } from '../support/folder.ts'
import { read } from '../support/project.ts'
import { createTestDatabase } from '../support/servers.ts'

const PASSWORD = 'the demo password'

describe('the demo data', () => {
  let db: Database
  let kept: string[]
  const database = forEachTest(createTestDatabase)
  const folder = sharedFolder()
  beforeEach(() => {
    db = database.connect('owner', { poolSize: 2 })
    kept = []
  })
  const seedAt = (time: string, options: { db?: Database; password?: string | undefined } = {}) =>
    seed({
      ...{ db, password: PASSWORD, clock: { now: () => Date.parse(time) }, ...options },
      keepPassword: async (password) => void kept.push(password),
    })

  const days = (vendorId: string) => db('analytics_daily').where({ vendor_id: vendorId }).orderBy('date')
  const dates = async (vendorId: string): Promise<string[]> => (await days(vendorId)).map(({ date }) => date)

  it('has two companies and their people, with one password for all that it makes up', async () => {
    await seedAt('2026-11-21T12:00:00Z', { password: undefined })
    const [password = ''] = kept
    assert.match(password, /^[\w-]{16}$/)
    assert.deepEqual(await db('companies').select('vendor_id', 'timezone', 'currency').orderBy('vendor_id'), [
      { vendor_id: 'ven_acme', timezone: 'Europe/Berlin', currency: 'EUR' },
      { vendor_id: 'ven_globex', timezone: 'America/New_York', currency: 'USD' },
    ])
    const people = await db('memberships')
      .join('users', 'users.user_id', 'memberships.user_id')
      .orderBy('email')
    assert.deepEqual(
      people.map(({ email, vendor_id, role, status }) => [email, vendor_id, role, status]),
      [
        ['admin@acme.example', 'ven_acme', 'admin', 'active'],
        ['member@acme.example', 'ven_acme', 'member', 'active'],
        ['owner@acme.example', 'ven_acme', 'owner', 'active'],
        ['owner@globex.example', 'ven_globex', 'owner', 'active'],
        ['suspended@acme.example', 'ven_acme', 'admin', 'suspended'],
      ],
    )
    for (const { password_hash } of people) assert.equal(await indexOfPassword(password, [password_hash]), 0)
  })

  it('has 90 days that end today, where today is each company’s own', async () => {
    // 00:30 on the 22nd in Berlin, 18:30 on the 21st in New York.
    await seedAt('2026-11-21T23:30:00Z')
    const acme = await dates('ven_acme')
    const globex = await dates('ven_globex')
    assert.deepEqual([acme.length, acme[0], acme.at(-1)], [90, '2026-08-25', '2026-11-22'])
    assert.deepEqual([globex.length, globex[0], globex.at(-1)], [90, '2026-08-24', '2026-11-21'])
  })

  it('has figures that fit together, and today as far as it has come', async () => {
    const now = '2026-11-21T11:00:00Z'
    await seedAt(now)
    for (const vendorId of ['ven_acme', 'ven_globex']) {
      const all = await days(vendorId)
      for (const day of all) {
        assert.ok(day.impressions > day.clicks && day.clicks > day.orders, day.date)
        assert.ok(day.units_sold >= day.orders, day.date)
        assert.ok(day.last_event_at <= new Date(now), day.date)
      }
      assert.ok(all.some(({ boost_spend_minor }) => boost_spend_minor > 0))
      assert.ok(all.some(({ boost_spend_minor }) => boost_spend_minor === 0))
      const today = all.at(-1)
      const usual = all.slice(0, -1).reduce((sum, { impressions }) => sum + impressions, 0) / 89
      assert.ok(today.impressions < 0.8 * usual)
      assert.equal(today.last_event_at.toISOString(), '2026-11-21T11:00:00.000Z')
    }
  })

  it('gives a day the same figures each time', async () => {
    await seedAt('2026-11-21T12:00:00Z')
    const first = await days('ven_acme')
    const { impressions, clicks, orders } = first[0]
    assert.deepEqual([impressions, clicks, orders], [18_750, 617, 33])
    await db.raw('delete from analytics_daily; delete from analytics_event_ids')
    await seedAt('2026-11-23T12:00:00Z')
    assert.deepEqual((await days('ven_acme')).slice(0, 87), first.slice(2, 89))
  })

  it('waits a minute for another start that adds it', async () => {
    const other = await db.transaction()
    await other.raw(`select pg_advisory_xact_lock(hashtextextended('demo seed', 0))`)
    await using _ = afterwards(() => other.rollback())
    using time = stoppedTime()
    const seeding = seedAt('2026-11-21T12:00:00Z')
    const waiting = database
      .connect('owner')('pg_stat_activity')
      .select('pid')
      .whereLike('query', '%pg_try_advisory_xact_lock(%')
      .whereRaw('datname = current_database() and pid <> pg_backend_pid()')
    await eventually(async () => (await waiting).length > 0)
    time.advance(60_001)
    await assert.rejects(seeding, /in a minute/)
  })

  it('adds on a later start the days that have begun since, and changes nothing', async () => {
    await seedAt('2026-11-21T12:00:00Z')
    assert.equal(await indexOfPassword(PASSWORD, [(await db('users').first()).password_hash]), 0)
    // What people have changed stays too.
    await db('memberships').where({ vendor_id: 'ven_acme', role: 'owner' }).delete()
    await db('memberships').where({ vendor_id: 'ven_acme', role: 'member' }).update({ role: 'owner' })
    await db('analytics_daily').where({ date: '2026-11-20' }).update({ clicks: 1 })
    const people = () => Promise.all([db('users').orderBy('user_id'), db('memberships').orderBy('user_id')])
    const before = [await days('ven_acme'), await people()]
    assert.equal(await seedAt('2026-11-24T12:00:00Z', { password: 'another' }), 3)
    assert.deepEqual(kept, [PASSWORD])
    assert.deepEqual([(await days('ven_acme')).slice(0, 90), await people()], before)
    assert.equal((await dates('ven_acme')).at(-1), '2026-11-24')
  })

  it('leaves no gap after a long pause', async () => {
    await seedAt('2026-01-10T12:00:00Z')
    await seedAt('2026-11-21T12:00:00Z')
    const acme = await dates('ven_acme')
    assert.equal(acme.length, 90 + 315)
    assert.equal(acme.at(-1), '2026-11-21')
  })

  it('leaves an erased company as it is, without a demo client', async () => {
    await seedAt('2026-11-21T12:00:00Z')
    const dataDir = await openDataDir(join(folder, 'data'))
    const secrets = await localSecrets(dataDir)
    const { envFile = '' } = (await ensureDemoClient({ db, dataDir, secrets, baseUrl: '' })) ?? {}
    assert.equal((await stat(envFile)).mode & 0o777, 0o600)
    const named = (text: string) => text.match(/^INTEGRATION_\w+(?==)/gm)
    const page = read('apps/api/discovery/docs/pages/index.md')
    assert.deepEqual(named(await readFile(envFile, 'utf8')), named(page))
    assert.deepEqual(await db('oauth_clients').pluck('scopes'), [['analytics:read']])
    await db.raw(`delete from analytics_daily where vendor_id = 'ven_acme'`)
    await db.raw(`delete from memberships where vendor_id = 'ven_acme'`)
    await db.raw(`update companies set erased_at = now() where vendor_id = 'ven_acme'`)
    await seedAt('2026-11-21T12:00:00Z')
    assert.deepEqual(await dates('ven_acme'), [])
    assert.equal(await ensureDemoClient({ db, dataDir, secrets, baseUrl: '' }), undefined)
    dataDir.release()
    assert.equal(await holdsOnlyOthers(db), false)
  })

  it('is kept from a real installation, also one whose companies are erased, or of an earlier release', async () => {
    await db.raw(`insert into companies (vendor_id, name, timezone, currency, erased_at)
      values ('ven_real', 'Real', 'UTC', 'EUR', now())`)
    assert.equal(await holdsOnlyOthers(db), true)
    await db.raw('alter table companies drop column erased_at')
    assert.equal(await holdsOnlyOthers(db), true)
  })

  it('seeds once when two start at the same time', async () => {
    const hurried = database.connect('owner', { poolSize: 2, statementTimeout_ms: 1_000 })
    const first = await db.transaction()
    await first.raw(`select pg_advisory_xact_lock(hashtextextended('demo seed', 0))`)
    // For longer than a statement may take, and its server may be silent.
    setTimeout(() => first.rollback(), 3_000)
    const days = await Promise.all([1, 2].map(() => seedAt('2026-11-21T12:00:00Z', { db: hurried })))
    assert.deepEqual(days.sort(), [0, 90])
  })
})
