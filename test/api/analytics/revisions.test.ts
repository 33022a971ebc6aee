import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { systemClock } from '#shared/process/clock.ts'
import type { Database } from '#shared/stores/postgres.ts'
import { addDays } from '../../../apps/api/analytics/calendar.ts'
import { createCompanyCalendars } from '../../../apps/api/analytics/company-calendar.ts'
import { createDailyReads } from '../../../apps/api/analytics/daily-analytics.ts'
import { readRevisions, readStoredDays, storeEvents } from '../../../apps/api/analytics/store.ts'
import { afterwards } from '../../support/block.ts'
import { sharedDatabase } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { cutOffDatabase } from '../../support/stores.ts'

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
  const event = () => ({
    eventId: randomUUID(),
    type: 'click' as const,
    occurredAt_ms: Date.parse(`${DATE}T12:00:00Z`),
    date: DATE,
    quantity: 1,
    amountMinor: null,
  })

  it('has no revision before the first day', async () =>
    assert.equal(await revisionOf(await company()), undefined))

  it('changes the revision with stored events', async () => {
    const vendorId = await company()
    await storeEvents(db, vendorId, [event()])
    const before = await revisionOf(vendorId)
    assert.ok(before)
    await storeEvents(db, vendorId, [event()])
    assert.notEqual(await revisionOf(vendorId), before)
  })

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
    await storeEvents(db, vendorId, [event()])
    const before = await revisionOf(vendorId)
    const transaction = await owner.transaction()
    await storeEvents(transaction as unknown as Database, vendorId, [event()])
    assert.equal(await revisionOf(vendorId), before)
    await transaction.commit()
    const stored = await readStoredDays(db, { vendorId, from: '2026-11-01', to: '2026-11-30' })
    assert.equal(stored.revision, await revisionOf(vendorId))
    assert.notEqual(stored.revision, before)
  })

  it('reads the revisions of many companies in their order, repeated or unknown', async () => {
    const [a, b] = [await company(), await company()]
    await storeEvents(db, a, [event()])
    await storeEvents(db, b, [event()])
    const [ofA, ofB] = [await revisionOf(a), await revisionOf(b)]
    assert.deepEqual(await readRevisions(db, [b, a, 'ven_unknown', b]), [ofB, ofA, undefined, ofB])
  })

  it('caches 16 MiB of answers: the newest, none twice', async () => {
    const { readDaily } = createDailyReads({ db, turns: (_, read) => read() })
    const calendar = await createCompanyCalendars({ db, clock: systemClock })(await company())
    assert.ok(calendar)
    // An answer of a year has 53 kB.
    const read = (day: number, revision?: string) =>
      readDaily(calendar, { from: addDays(DATE, day), to: addDays(DATE, day + 365) }, revision)
    for (let day = 0; day < 400; day += 1) await read(0, 'before')
    const first = await read(0)
    assert.equal(await read(0), first)
    for (let day = 1; day < 400; day += 1) await read(day)
    assert.equal(await read(399), await read(399))
    assert.notEqual(await read(0), first)
  })

  it('reads a revision once the database is back, though it was away for the first', async () => {
    const { readRevision } = createDailyReads({ db, turns: (_, read) => read() })
    const comeBack = await cutOffDatabase(database)
    await using _ = afterwards(comeBack)
    await assert.rejects(readRevision('ven_a'))
    await comeBack()
    const isRead = async () => (await readRevision('ven_a')) === undefined
    await eventually(() => isRead().catch(() => false))
  })
})
