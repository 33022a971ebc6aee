import assert from 'node:assert/strict'
import { storedDays } from '../support/analytics.ts'
import { type ApiResponse, sharedApi } from '../support/api.ts'
import { assertStored, createEvents, createSender, type Sender } from '../support/event-sender.ts'
import { assertInvalid } from '../support/problem.ts'
import { words } from './guarded-fetch/spellings.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const MAX = Number.MAX_SAFE_INTEGER

describe('an event at POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi()
  const { at, click, order } = createEvents(api)
  let company: Sender
  beforeEach(async () => {
    api.clock.set('2026-11-20T17:04:00Z')
    company = await createSender(api)
  })

  describe('the time of an event', () => {
    for (const [edge, last_ms, beyond_ms] of [
      ['72 hours back', -72 * HOUR_MS, -72 * HOUR_MS - 1],
      ['5 minutes ahead', 5 * MINUTE_MS, 5 * MINUTE_MS + 1],
    ] as const)
      it(`accepts a time exactly ${edge}, not a millisecond more`, async () => {
        assertStored(await company.send(click({ occurredAt: at(last_ms) })), 1)
        assertInvalid(await company.send(click({ occurredAt: at(beyond_ms) })), '/events/0/occurredAt')
      })

    for (const [occurredAt, stored] of [
      ['2026-11-20T17:03:00+00:00', '2026-11-20T17:03:00.000Z'],
      ['2026-11-20T18:03:00.250+01:00', '2026-11-20T17:03:00.250Z'],
      ['2026-11-19T17:04:00-23:59', '2026-11-20T17:03:00.000Z'],
      ['2026-11-20t17:03:00z', '2026-11-20T17:03:00.000Z'],
      ['2026-11-20T17:03:00.12345678901234567890Z', '2026-11-20T17:03:00.123Z'],
    ] as const)
      it(`accepts the time ${occurredAt}, and answers in UTC`, async () => {
        assertStored(await company.send(click({ occurredAt })), 1)
        assert.equal((await company.read()).json.dataThrough, stored)
      })

    it("counts an event for the day of its instant in the company's zone, whatever its offset", async () => {
      assertStored(await company.send(click({ occurredAt: '2026-11-20T00:30:00+14:00' })), 1)
      assert.equal((await storedDays(api.db, company.vendorId))[0]?.date, '2026-11-19')
    })

    it('judges a time with an offset by its instant too', async () => {
      const ago = new Date(api.clock.now() - 72 * HOUR_MS - 1 + 2 * HOUR_MS).toISOString()
      const refused = await company.send(click({ occurredAt: ago.replace('Z', '+02:00') }))
      assertInvalid(refused, '/events/0/occurredAt')
    })

    const MALFORMED = words(`
      2026-11-20T17:00:00 2026-11-20T17:00+01:00 2026-11-20T18:00:00+0100 2026-11-20T18:00:00+24:00
      2026-11-20T18:00:00+01:60 2026-11-20T18:00:00[Europe/Berlin] 2026-11-20T17:00:00.Z
      2026-11-20T17:00:00,5Z 2026-11-20T17:60:00Z 2026-11-20T24:00:00Z 2026-11-19T23:59:60Z
      2026-11-31T00:00:00Z 2100-02-29T00:00:00+01:00 1969-12-31T23:59:59Z
    `)
    const SPACED = ['2026-11-20 17:00:00Z', ' 2026-11-20T17:00:00Z', '2026-11-20T17:00:00Z\n']
    for (const occurredAt of [...MALFORMED, ...SPACED, '', 1_795_194_000_000, null])
      it(`refuses the time ${JSON.stringify(occurredAt)}`, async () => {
        const refused = await company.send(click({ occurredAt }))
        assertInvalid(refused, '/events/0/occurredAt')
        // And not because it is long ago.
        assert.match(refused.json.errors[0].detail, /^must be a (?:string|time from 1970 on in RFC 3339)/)
      })
  })

  describe('a late event', () => {
    it('changes the day and ETag for a late event, and neither for a repeat', async () => {
      const event = click({ occurredAt: '2026-11-18T12:00:00Z' })
      await company.send(event)
      const before = await company.read()
      const late = click({ occurredAt: '2026-11-18T13:00:00Z' })
      assertStored(await company.send(late), 1)
      const after = await company.read()
      assert.notEqual(after.headers.get('etag'), before.headers.get('etag'))
      const day = (response: ApiResponse) =>
        response.json.days.find((one: { date: string }) => one.date === '2026-11-18')
      assert.deepEqual([day(before).clicks, day(after).clicks], [1, 2])
      assertStored(await company.send(event, late), 0, 2)
      const again = await company.read(api, { 'if-none-match': after.headers.get('etag') as string })
      assert.equal(again.status, 304)
    })

    for (const [timezone, date, end] of [
      ['Europe/Berlin', '2026-10-25', '2026-10-25T23:00:00Z'],
      ['America/Havana', '2026-11-01', '2026-11-02T05:00:00Z'],
      ['Africa/Cairo', '2026-04-23', '2026-04-23T22:00:00Z'],
    ] as const)
      it(`accepts late events for ${date} in ${timezone} exactly while that day is provisional`, async () => {
        company = await createSender(api, { timezone })
        const lastInstant = new Date(Date.parse(end) - 1).toISOString()
        const status = async () =>
          (await company.read()).json.days.find((day: { date: string }) => day.date === date)?.status
        api.clock.set(lastInstant)
        assertStored(await company.send(click({ occurredAt: lastInstant })), 1)

        api.clock.set(Date.parse(end) + 72 * HOUR_MS - 1)
        assert.equal(await status(), 'provisional')
        assertStored(await company.send(click({ occurredAt: lastInstant })), 1)
        assert.equal((await storedDays(api.db, company.vendorId)).at(-1)?.date, date)

        api.clock.advance(1)
        assert.equal(await status(), 'final')
        assertInvalid(await company.send(click({ occurredAt: lastInstant })), '/events/0/occurredAt')
        // The oldest event that can still come belongs to the next day.
        assertStored(await company.send(click({ occurredAt: end })), 1)
        const days = await storedDays(api.db, company.vendorId)
        assert.notEqual(days.at(-1)?.date, date)
        assert.equal(days.find((day) => day.date === date)?.clicks, '2')
      })

    it('makes a missing day appear for a late event', async () => {
      const statusOf = async () => (await company.read()).json.days.at(-2).status
      assert.equal(await statusOf(), 'missing')
      await company.send(click({ occurredAt: at(-24 * HOUR_MS) }))
      assert.equal(await statusOf(), 'provisional')
    })
  })

  describe('quantity and amountMinor', () => {
    for (const literal of ['9007199254740991', '12.0', '1.2e1'])
      it(`accepts the quantity and the amountMinor ${literal}`, async () => {
        const text = JSON.stringify({ events: [click({ quantity: 7_777 }), order({ amountMinor: 7_777 })] })
        assertStored(await company.post(text.replaceAll('7777', literal)), 2)
        const { totals } = (await company.read()).json
        assert.deepEqual([totals.clicks, totals.revenueMinor], [Number(literal), Number(literal)])
      })

    for (const literal of ['0', '-0', '0.0', '0e5'])
      it(`accepts the amountMinor ${literal}`, async () => {
        const text = JSON.stringify({ events: [order({ amountMinor: 7_777 })] })
        assertStored(await company.post(text.replaceAll('7777', literal)), 1)
        assert.match((await company.read()).text, /"revenueMinor":0,/)
      })

    for (const value of [0, -1, 1.5, 2 ** 53, '1', '', true, null, [], {}])
      it(`refuses the quantity ${JSON.stringify(value)}`, async () => {
        assertInvalid(await company.send(click({ quantity: value })), '/events/0/quantity')
        assertInvalid(await company.send(order({ quantity: value })), '/events/0/quantity')
        await company.assertNothingStored()
      })

    for (const value of [-1, 0.5, 2 ** 53, '1', null, []])
      it(`refuses the amountMinor ${JSON.stringify(value)}`, async () => {
        for (const type of ['order', 'boost_spend'])
          assertInvalid(await company.send(order({ type, amountMinor: value })), '/events/0/amountMinor')
        await company.assertNothingStored()
      })

    for (const literal of ['1e400', '-1e400', '9007199254740993', '100000000000000000000'])
      it(`refuses the amount ${literal}`, async () => {
        const text = JSON.stringify({ events: [click(), order({ amountMinor: 7_777 })] })
        assertInvalid(await company.post(text.replace('7777', literal)), '/events/1/amountMinor')
        await company.assertNothingStored()
      })

    it('requires an amount of an order and a boost spend', async () => {
      const without = { amountMinor: undefined }
      const refused = await company.send(order(without), order({ type: 'boost_spend', ...without }))
      assertInvalid(refused, '/events/0/amountMinor', '/events/1/amountMinor')
    })

    it('refuses an amount of an impression or a click, and a quantity of a boost spend', async () =>
      assertInvalid(
        await company.send(
          click({ type: 'impression', amountMinor: 1 }),
          ...[click({ currency: 'EUR' }), order({ type: 'boost_spend', quantity: 1 })],
        ),
        ...['/events/0/amountMinor', '/events/1/currency', '/events/2/quantity'],
      ))

    it('accepts a daily sum of 2^53 - 1; refuses one beyond it, and stores nothing', async () => {
      assertStored(await company.send(order({ amountMinor: MAX - 5 })), 1)
      const before = await storedDays(api.db, company.vendorId)
      const orders = [5, 1, 0].map((amountMinor) => order({ amountMinor }))
      assertInvalid(await company.send(click(), ...orders), '/events')
      assert.deepEqual(await storedDays(api.db, company.vendorId), before)
      assertStored(await company.send(order({ amountMinor: 5 })), 1)
      assert.match((await company.read()).text, /"revenueMinor":9007199254740991/)
    })
  })

  describe('currency', () => {
    for (const currency of ['USD', 'eur', 'EUR ', '', undefined, null, 978])
      it(`refuses the currency ${JSON.stringify(currency) ?? 'left out'} for a company in EUR`, async () => {
        const refused = await company.send(order({ currency }), order({ type: 'boost_spend', currency }))
        assertInvalid(refused, '/events/0/currency', '/events/1/currency')
        await company.assertNothingStored()
      })
  })

  describe('eventId', () => {
    for (const [what, eventId] of [
      ['255 characters of four bytes each', '\u{1F6D2}'.repeat(255)],
      ['spaces, quotes and braces', ` '"{a},\\\\ null`],
    ] as const)
      it(`accepts as an eventId ${what}`, async () => {
        assertStored(await company.send(click({ eventId })), 1)
        assertStored(await company.send(click({ eventId })), 0, 1)
        const stored = api.db('analytics_events').where({ vendor_id: company.vendorId })
        assert.deepEqual(await stored.pluck('event_id'), [eventId])
      })

    for (const [what, eventId] of [
      ['empty', ''],
      ['256 characters', 'x'.repeat(256)],
      ['with a NUL', 'a\u0000b'],
      ['with half a surrogate pair', 'a\ud800b'],
      ['left out', undefined],
    ] as const)
      it(`refuses the eventId ${what}`, async () => {
        assertInvalid(await company.send(click({ eventId })), '/events/0/eventId')
        await company.assertNothingStored()
      })
  })
})
