import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertCompany } from '#shared/accounts/people.ts'
import { createPostgres, type Database } from '#shared/stores/postgres.ts'
import { extendLog } from '../../apps/api/activity/chain.ts'
import { readApiConfig } from '../../apps/api/config.ts'
import { verifyLog } from '../../infra/admin/audit.ts'
import { appendEntries, newLogKey } from '../support/activity-log.ts'
import { eventually } from '../support/eventually.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'

const VENDOR = 'ven_acme'

describe('the activity log', () => {
  let database: TestDatabase
  let owner: Database
  let processes: [Database, Database]
  beforeEach(async () => {
    database = await createTestDatabase()
    const connect = (url: string, poolSize: number) =>
      createPostgres({ url, poolSize, applicationName: 'test' })
    owner = connect(database.ownerUrl, 6)
    processes = [connect(database.apiUrl, 1), connect(database.apiUrl, 1)]
    await insertCompany(owner, { vendorId: VENDOR, name: 'Acme', timezone: 'UTC', currency: 'EUR' })
  })
  afterEach(async () => {
    await Promise.all([owner, ...processes].map((db) => db.destroy()))
    await database.drop()
  })

  const verify = () => verifyLog(owner, { keys: undefined, seen: [] })

  it('holds each committed entry once, however writers and two processes overlap', async () => {
    let writing = true
    const extending = processes.map(async (db) => {
      while (writing) await extendLog(db, undefined)
    })
    const write = async (writer: number) => {
      for (let round = 0; round < 8; round += 1) {
        const transaction = await owner.transaction()
        await appendEntries(transaction, 2, VENDOR)
        // So they commit in another order than they were numbered.
        await sleep((writer * 7 + round * 3) % 11)
        await (round % 4 === 3 ? transaction.rollback() : transaction.commit())
      }
    }
    await Promise.all([0, 1, 2, 3].map(write))
    writing = false
    await Promise.all(extending)
    await extendLog(processes[0], undefined)
    const { entries, faults, heads } = await verify()
    assert.deepEqual([entries, faults], [48, []])
    assert.ok(heads > 2)
    const { rows } = await owner.raw(
      'select count(*), count(leaf_index) as placed, max(leaf_index) as last from activity',
    )
    assert.deepEqual(rows, [{ count: 48, placed: 48, last: 47 }])
  })

  it('has one head for all entries from before it, more than a round holds', async () => {
    await owner.raw(
      `insert into activity (vendor_id, action, subject, at)
       select ?, 'callback.saved', i::text, now() - interval '1 year' + i * interval '1 second'
       from generate_series(1, 2300) as i`,
      [VENDOR],
    )
    const heads = []
    for (let head: Awaited<ReturnType<typeof extendLog>> = 'more'; head; ) {
      head = await extendLog(processes[0], undefined)
      heads.push(typeof head === 'object' ? head.treeSize : head)
    }
    assert.deepEqual(heads, ['more', 'more', 2300, undefined])
    assert.deepEqual((await verify()).faults, [])
  })

  it('has a head for entries of exactly one round', async () => {
    await extendLog(processes[0], undefined)
    await owner.raw(
      `insert into activity (vendor_id, action, subject) select ?, 'callback.saved', i::text
       from generate_series(1, 1000) as i`,
      [VENDOR],
    )
    await extendLog(processes[0], undefined)
    assert.equal(((await extendLog(processes[0], undefined)) as { treeSize: number }).treeSize, 1000)
    assert.equal(await extendLog(processes[0], undefined), undefined)
  })

  it('holds what an erasure that ends meanwhile leaves of an entry', async () => {
    await appendEntries(owner, 1, VENDOR)
    await owner.raw('update companies set erased_at = now()')
    const erasure = await owner.transaction()
    await erasure.raw('select erase_from_activity(0, 100)')
    const extending = extendLog(processes[0], undefined)
    await eventually(async () => {
      const { rows } = await owner.raw(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length === 1
    })
    await erasure.commit()
    await extending
    const { entries, faults } = await verify()
    assert.deepEqual([entries, faults], [1, []])
  })

  it('gets a new head each hour, and none between without an entry', async () => {
    assert.equal(((await extendLog(processes[0], undefined)) as { treeSize: number }).treeSize, 0)
    assert.equal(await extendLog(processes[0], undefined), undefined)
    await owner.raw(`update activity_heads set at = at - interval '61 minutes'`)
    assert.equal(((await extendLog(processes[1], undefined)) as { treeSize: number }).treeSize, 0)
    assert.equal((await verify()).heads, 2)
  })

  for (const [what, key] of [
    ['text', 'secret'],
    ['an empty list', ','],
    ['a key and a comma', `${newLogKey()},`],
    ['a key of zeros', Buffer.alloc(48).toString('base64')],
    ['nine keys', Array.from({ length: 9 }, newLogKey).join(',')],
  ] as const)
    it(`refuses ${what} as LOG_SIGNING_KEY, without printing it`, () => {
      assert.throws(
        () => readApiConfig({ LOG_SIGNING_KEY: key }),
        ({ message }: Error) =>
          /LOG_SIGNING_KEY: must be an Ed25519 key/.test(message) &&
          !message.includes(key.slice(0, -1) || '!'),
      )
    })
})
