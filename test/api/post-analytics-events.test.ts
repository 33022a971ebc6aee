import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { recount, storedDays } from '../support/analytics.ts'
import { sharedApi } from '../support/api.ts'
import { assertStored, createEvents, createSender, type Sender } from '../support/event-sender.ts'
import { eventually } from '../support/eventually.ts'
import { assertInvalid, assertProblem } from '../support/problem.ts'
import { endBlocked, lockTable } from '../support/stores.ts'

describe('POST /v1/analytics/{vendor_id}/events', () => {
  const api = sharedApi()
  const { click } = createEvents(api)
  /** Another process of the API. */
  const other = sharedApi({ beside: api })
  let company: Sender
  beforeEach(async () => {
    api.clock.set('2026-11-20T17:04:00Z')
    company = await createSender(api)
  })

  const path = () => `/v1/analytics/${company.vendorId}/events`

  describe('what is stored', () => {
    it('shows stored events at every process from the answer on', async () => {
      for (let n = 1; n <= 20; n++) {
        const [writer, reader] = n % 2 ? [api, other] : [other, api]
        assertStored(await company.post({ events: [click()] }, writer), 1)
        assert.equal((await company.read(reader)).json.totals.clicks, n)
      }
    })

    it('stores one event, or a thousand, and an id once', async () => {
      const event = click()
      assertStored(await company.send(event), 1)
      const many = Array.from({ length: 999 }, () => click())
      assertStored(await company.send(...many, { ...event, quantity: 9 }), 999, 1)
      assert.deepEqual(await storedDays(api.db, company.vendorId), await recount(api.db, company.vendorId))
    })
  })

  describe('the body', () => {
    it('names every bad event, however many, and stores nothing of the call', async () => {
      const events = Array.from({ length: 1_000 }, (_, n) =>
        n % 2 ? click({ type: 'view' }) : click({ occurredAt: 0 }),
      )
      events[500] = click()
      const response = await company.post({ events })
      const expected = events.flatMap((_, n) =>
        n === 500 ? [] : [`/events/${n}/${n % 2 ? 'type' : 'occurredAt'}`],
      )
      assertInvalid(response, ...expected)
      await company.assertNothingStored()
    })

    for (const [what, name] of [
      ['short names', (n: number) => `x${n}`],
      ['names of control characters', (n: number) => `${'\u0001'.repeat(14)}${n}`],
      ['names of slashes', (n: number) => `${'~/'.repeat(18)}${n}`],
    ] as const)
      it(`answers within 256 KiB when 1,000 events have unknown members with ${what}`, async () => {
        const unknown = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [name(n), 1]))
        const response = await company.send(...Array.from({ length: 1_000 }, () => click(unknown)))
        assertProblem(response, 'invalid_input')
        const bytes = Buffer.byteLength(response.text)
        assert.ok(bytes <= 256 * 1_024, `${bytes} bytes`)
        const pointers: { pointer: string }[] = response.json.errors
        assert.equal(new Set(pointers.map(({ pointer }) => pointer.split('/')[2])).size, 1_000)
      })

    it('refuses the first byte beyond 1 MiB, with neither length nor end seen', async () => {
      const headers = { authorization: `Bearer ${await company.token()}`, 'content-type': 'application/json' }
      const request = httpRequest(`${api.url}${path()}`, { method: 'POST', headers })
      const answered = once(request, 'response')
      request.write(Buffer.alloc(1_048_576, ' '))
      request.write(' ')
      const [response] = await answered
      assert.equal(response.statusCode, 413)
      request.on('error', () => {})
      request.destroy()
    })
  })

  it('answers 503 while Postgres cannot take it, keeps nothing, and takes a repeat', async () => {
    const events = [click(), click()]
    const gate = await lockTable(api.db, 'analytics_daily')
    const answer = company.post({ events })
    await eventually(() => endBlocked(api.db))
    assertProblem(await answer, 'unavailable')
    await gate.rollback()
    await company.assertNothingStored()
    assertStored(await company.post({ events }, other), 2)
  })

  it('lets other companies through while a company with many calls waits for itself', async () => {
    await company.send(click())
    const busy = company
    const gate = await api.db.transaction()
    await gate.raw('select 1 from analytics_daily where vendor_id = ? for update', [company.vendorId])
    const waiting = Array.from({ length: 40 }, () => company.send(click()))
    company = await createSender(api)
    assertStored(await company.send(click()), 1)
    assert.equal((await company.read()).json.totals.clicks, 1)
    await gate.rollback()
    for (const answer of await Promise.all(waiting)) assertStored(answer, 1)
    company = busy
    assert.equal((await company.read()).json.totals.clicks, 41)
  })
})
