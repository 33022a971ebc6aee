import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Database } from '#shared/stores/postgres.ts'
import { readRevisions, readStoredDays, storeEvents } from '../../../apps/api/analytics/store.ts'
import { sharedDatabase } from '../../support/database.ts'

const DATE = '2026-11-20'

describe("the revision of a company's days", () => {
  const database = sharedDatabase()
  let db: Database
  let owner: Knex
  before(() => {
    ;({ api: db, owner } = database)
  })

  const company = () => database.createCompany()
  const revisionOf = async (vendorId: string) => (await readRevisions(db, [vendorId]))[0]
  const insert = (to: Knex, vendorId: string, date = DATE) =>
    to.raw('insert into analytics_daily (vendor_id, date, last_event_at) values (?, ?, now())', [
      vendorId,
      date,
    ])
  const event = () => ({
    eventId: randomUUID(),
    type: 'click' as const,
    occurredAt_ms: Date.parse(`${DATE}T12:00:00Z`),
    date: DATE,
    quantity: 1,
    amountMinor: null,
  })

  it('has no revision before the first day', async () => {
    assert.equal(await revisionOf(await company()), undefined)
  })

  const changes: [string, (vendorId: string) => Promise<unknown>][] = [
    ['stored events', (vendorId) => storeEvents(db, vendorId, [event()])],
    ['a day that is added', (vendorId) => insert(owner, vendorId, '2026-11-19')],
    [
      'a day that is changed',
      (id) => owner.raw('update analytics_daily set clicks = 9 where vendor_id = ?', [id]),
    ],
    ['a day that is removed', (id) => owner.raw('delete from analytics_daily where vendor_id = ?', [id])],
  ]
  for (const [what, change] of changes) {
    it(`changes the revision with ${what}`, async () => {
      const vendorId = await company()
      await insert(owner, vendorId)
      const before = await revisionOf(vendorId)
      assert.ok(before)
      await change(vendorId)
      assert.notEqual(await revisionOf(vendorId), before)
    })
  }

  it('keeps the revision when nothing changes: repeated events, days of another company', async () => {
    const [vendorId, other] = [await company(), await company()]
    const events = [event()]
    await storeEvents(db, vendorId, events)
    const before = await revisionOf(vendorId)
    await storeEvents(db, vendorId, events)
    await storeEvents(db, other, events)
    assert.equal(await revisionOf(vendorId), before)
  })

  it('commits the revision with the days and not before them', async () => {
    const vendorId = await company()
    await insert(owner, vendorId)
    const before = await revisionOf(vendorId)
    const transaction = await owner.transaction()
    await insert(transaction, vendorId, '2026-11-19')
    assert.equal(await revisionOf(vendorId), before)
    await transaction.commit()
    const stored = await readStoredDays(db, { vendorId, from: '2026-11-01', to: '2026-11-30' })
    assert.equal(stored.days.length, 2)
    assert.equal(stored.revision, await revisionOf(vendorId))
    assert.notEqual(stored.revision, before)
  })

  it('keeps the revision when the change is rolled back', async () => {
    const vendorId = await company()
    await insert(owner, vendorId)
    const before = await revisionOf(vendorId)
    const transaction = await owner.transaction()
    await insert(transaction, vendorId, '2026-11-19')
    await transaction.rollback()
    assert.equal(await revisionOf(vendorId), before)
  })

  it('reads the revisions of many companies in their order, repeated or unknown', async () => {
    const [a, b] = [await company(), await company()]
    await insert(owner, a)
    await insert(owner, b)
    const [ofA, ofB] = [await revisionOf(a), await revisionOf(b)]
    assert.deepEqual(await readRevisions(db, [b, a, 'ven_unknown', b]), [ofB, ofA, undefined, ofB])
  })
})
