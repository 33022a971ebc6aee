import assert from 'node:assert/strict'
import knex, { type Knex } from 'knex'
import { insertCompany } from '#shared/accounts/people.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers.ts'

const MAX = '9007199254740991'
const BEYOND = '9007199254740992'
const CHECK = '23514'
const NOT_NULL = '23502'
const UNIQUE = '23505'
const FOREIGN_KEY = '23503'
const NO_SUCH_TYPE_OF_EVENT = '22P02'

const SUMS = ['impressions', 'clicks', 'orders', 'units_sold', 'revenue_minor', 'boost_spend_minor']

const day = (columns: string, values: string, date = '2026-11-20') =>
  `insert into analytics_daily (vendor_id, date, last_event_at${columns && `, ${columns}`})
   values ('ven_a', '${date}', now()${values && `, ${values}`})`
const event = (type: string, quantity: string, amount: string) =>
  `insert into analytics_events (vendor_id, event_id, type, date, occurred_at, quantity, amount_minor)
   values ('ven_a', 'e', '${type}', '2026-11-20', now(), ${quantity}, ${amount})`
const id = (vendor: string, eventId: string) =>
  `insert into analytics_event_ids (vendor_id, event_id) values (${vendor}, ${eventId})`

describe('the tables of analytics, even for the owner of the tables', () => {
  let database: TestDatabase
  let db: Knex
  before(async () => {
    database = await createTestDatabase()
    db = knex({ client: 'pg', connection: database.ownerUrl, pool: { min: 0, max: 1 } })
    await insertCompany(db, { vendorId: 'ven_a', name: 'A', timezone: 'UTC', currency: 'EUR' })
    await db.raw(day('', '', '2026-11-01'))
    await db.raw(id("'ven_a'", "'seen'"))
  })
  after(async () => {
    await db.destroy()
    await database.drop()
  })

  /** Runs a statement and takes it back. @returns its SQLSTATE, or undefined if it was taken. */
  const refusal = async (statement: string): Promise<string | undefined> => {
    const transaction = await db.transaction()
    try {
      await transaction.raw(statement)
      return undefined
    } catch (error) {
      return (error as { code?: string }).code
    } finally {
      await transaction.rollback()
    }
  }

  const REFUSED: [string, string, string][] = [
    ...SUMS.flatMap((sum): [string, string, string][] => [
      [`${sum} beyond 2^53 - 1`, day(sum, BEYOND), CHECK],
      [`${sum} below 0`, day(sum, '-1'), CHECK],
      [`no ${sum}`, day(sum, 'null'), NOT_NULL],
      [`${sum} raised beyond 2^53 - 1`, `update analytics_daily set ${sum} = ${MAX} + 1::bigint`, CHECK],
    ]),
    ['a day twice', day('', '', '2026-11-01'), UNIQUE],
    ['a day of no company', day('', '').replace('ven_a', 'ven_nobody'), FOREIGN_KEY],
    ['a day without its newest event', day('', '').replace('now()', 'null'), NOT_NULL],
    ['an event of an unknown type', event('view', '1', 'null'), NO_SUCH_TYPE_OF_EVENT],
    ...['impression', 'click', 'order'].flatMap((type): [string, string, string][] => {
      const amount = type === 'order' ? '1' : 'null'
      return [
        [`an event of type ${type} without quantity`, event(type, 'null', amount), CHECK],
        [`an event of type ${type} with quantity 0`, event(type, '0', amount), CHECK],
        [`an event of type ${type} with a quantity beyond 2^53 - 1`, event(type, BEYOND, amount), CHECK],
      ]
    }),
    ['an impression with an amount', event('impression', '1', '1'), CHECK],
    ['a click with an amount', event('click', '1', '1'), CHECK],
    ['an order without an amount', event('order', '1', 'null'), CHECK],
    ['an order with a negative amount', event('order', '1', '-1'), CHECK],
    ['an order with an amount beyond 2^53 - 1', event('order', '1', BEYOND), CHECK],
    ['a boost spend with a quantity', event('boost_spend', '1', '1'), CHECK],
    ['a boost spend without an amount', event('boost_spend', 'null', 'null'), CHECK],
    ['a boost spend beyond 2^53 - 1', event('boost_spend', 'null', BEYOND), CHECK],
    ['an id twice', id("'ven_a'", "'seen'"), UNIQUE],
    ['an id of no company', id('null', "'x'"), NOT_NULL],
    ['no id', id("'ven_a'", 'null'), NOT_NULL],
  ]
  for (const [what, statement, state] of REFUSED) {
    it(`refuse ${what}`, async () => {
      assert.equal(await refusal(statement), state)
    })
  }

  const TAKEN: [string, string][] = [
    ...SUMS.map((sum): [string, string] => [`${sum} of 2^53 - 1`, day(sum, MAX)]),
    ['an impression of 2^53 - 1', event('impression', MAX, 'null')],
    ['an order of 2^53 - 1', event('order', MAX, MAX)],
    ['an order of nothing', event('order', '1', '0')],
    ['a boost spend of 2^53 - 1', event('boost_spend', 'null', MAX)],
    ['the id of one company for another', id("'ven_b'", "'seen'")],
  ]
  for (const [what, statement] of TAKEN) {
    it(`take ${what}`, async () => {
      assert.equal(await refusal(statement), undefined)
    })
  }
})
