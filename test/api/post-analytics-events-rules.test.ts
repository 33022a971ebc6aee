import assert from 'node:assert/strict'
import { storedDays } from '../support/analytics.ts'
import { type ApiResponse, sharedApi } from '../support/api.ts'
import { assertStored, createEvents, createSender, type Sender } from '../support/event-sender.ts'
import { assertInvalid } from '../support/problem.ts'

const HOUR_MS = 3_600_000

describe('an event at POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi()
  const { click } = createEvents(api)
  let company: Sender
  beforeEach(async () => {
    api.clock.set('2026-11-20T17:04:00Z')
    company = await createSender(api)
  })

  it('changes the day and ETag for a late event, and neither for a repeat', async () => {
    const event = click({ occurredAt: '2026-11-18T12:00:00Z' })
    const missing = await company.read()
    await company.send(event)
    const before = await company.read()
    const late = click({ occurredAt: '2026-11-18T13:00:00Z' })
    assertStored(await company.send(late), 1)
    const after = await company.read()
    assert.notEqual(after.headers.get('etag'), before.headers.get('etag'))
    const day = (response: ApiResponse) =>
      response.json.days.find((one: { date: string }) => one.date === '2026-11-18')
    const seen = [missing, before, after].map((read) => `${day(read).status} ${day(read).clicks}`)
    assert.deepEqual(seen, ['missing null', 'provisional 1', 'provisional 2'])
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
})
