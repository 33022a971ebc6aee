import assert from 'node:assert/strict'
import { reviseDays } from '../support/analytics.ts'
import { type ApiResponse, sharedApi, startApi } from '../support/api.ts'
import { assertInvalid } from '../support/problem.ts'

const METRICS = { impressions: 10, clicks: 4, orders: 3, unitsSold: 5, revenueMinor: 700, boostSpendMinor: 9 }
const ZEROS = { impressions: 0, clicks: 0, orders: 0, unitsSold: 0, revenueMinor: 0, boostSpendMinor: 0 }
const NULLS = Object.fromEntries(Object.keys(ZEROS).map((metric) => [metric, null]))

type Day = { date: string; status: string } & Record<string, unknown>

describe('GET /v1/analytics/{vendor_id}/daily', () => {
  const api = sharedApi()

  /** A company that reads its own figures. */
  async function company(timezone = 'Europe/Berlin', currency = 'EUR') {
    const { vendorId } = await api.createCompany({ timezone, currency })
    const { clientId } = await api.createClient({ vendorId })
    const read = async (search = '', headers: Record<string, string> = {}, method = 'GET') => {
      const token = await api.issuer.token({ clientId, vendorId })
      return api.request(method, `/v1/analytics/${vendorId}/daily${search}`, { token, headers })
    }
    const store = async (date: string, figures: Partial<typeof METRICS> = METRICS, time = '12:00:00Z') => {
      await api.db.raw(
        `insert into analytics_daily values (?, ?, ?, ?, ?, ?, ?, ?, ?)
         on conflict (vendor_id, date) do update set impressions = excluded.impressions`,
        [vendorId, date, ...Object.values({ ...ZEROS, ...figures }), `${date}T${time}`],
      )
      await reviseDays(api.db, vendorId)
    }
    return { vendorId, read, store }
  }
  const statuses = (response: ApiResponse) => response.json.days.map(({ status }: Day) => status)

  it('distinguishes a day of zeros from a missing one', async () => {
    api.clock.set('2026-11-20T17:30:00Z')
    const { read, store } = await company()
    await store('2026-11-01', ZEROS)
    const { days, totals } = (await read('?from=2026-11-01&to=2026-11-02')).json
    assert.deepEqual(days, [
      { date: '2026-11-01', status: 'final', ...ZEROS },
      { date: '2026-11-02', status: 'missing', ...NULLS },
    ])
    assert.deepEqual(totals, ZEROS)
  })

  it('adds up exactly, beyond 2^53', async () => {
    api.clock.set('2026-11-20T17:30:00Z')
    const { read, store } = await company()
    const revenueMinor = Number.MAX_SAFE_INTEGER
    for (const date of ['2026-11-01', '2026-11-02', '2026-11-03']) await store(date, { revenueMinor })
    const { text } = await read('?from=2026-11-01&to=2026-11-03')
    assert.match(text, /"totals":\{[^}]*"revenueMinor":27021597764222973,/)
  })

  it('gives 366 days at most, and none of another company', async () => {
    api.clock.set('2026-11-20T17:30:00Z')
    const [{ store }, { read }] = [await company(), await company()]
    await store('2026-11-01')
    const { days, dataThrough } = (await read('?from=2025-11-20&to=2026-11-20')).json
    const dates = new Set(days.map(({ date }: Day) => date))
    assert.deepEqual([days.length, dates.size, dataThrough], [366, 366, null])
    assert.ok(days.every(({ status }: Day) => status === 'missing'))
  })

  describe("the company's time zone", () => {
    for (const [timezone, now, today] of [
      ['Europe/Berlin', '2026-03-28T23:00:00Z', '2026-03-29'],
      ['Pacific/Kiritimati', '2026-06-01T10:00:00Z', '2026-06-02'],
      ['Pacific/Pago_Pago', '2026-06-01T10:59:59Z', '2026-05-31'],
    ] as const)
      it(`says that at ${now} it is ${today} in ${timezone}`, async () => {
        api.clock.set(now)
        const { read } = await company(timezone)
        const { range, days } = (await read()).json
        assert.deepEqual([range.to, range.timezone, days.length], [today, timezone, 30])
      })

    // 29 March 2026 has 23 hours in Berlin and ends at 22:00Z; 25 October has 25 and ends at 23:00Z. So
    // 24 October becomes final an hour before a midnight.
    for (const [date, end] of [
      ['2026-03-29', '2026-03-29T22:00:00Z'],
      ['2026-10-24', '2026-10-24T22:00:00Z'],
      ['2026-10-25', '2026-10-25T23:00:00Z'],
    ] as const)
      it(`calls ${date} provisional until 72 hours after its end, to the millisecond`, async () => {
        const { read, store } = await company()
        await store(date)
        const settled_ms = Date.parse(end) + 72 * 3_600_000
        const statusAt = async (at_ms: number) => {
          api.clock.set(at_ms)
          return statuses(await read(`?from=${date}&to=${date}`))
        }
        assert.deepEqual(await statusAt(settled_ms - 1), ['provisional'])
        assert.deepEqual(await statusAt(settled_ms), ['final'])
        assert.deepEqual(await statusAt(settled_ms - 1), ['provisional'])
      })

    it('moves on to the next day at midnight, even if the day of 72 hours ago has not ended yet', async () => {
      const { read } = await company('Europe/Berlin')
      // The clocks went back on the 25th: 72 hours before midnight it was one o'clock.
      api.clock.set('2026-10-26T22:59:50Z')
      assert.equal((await read()).json.range.to, '2026-10-26')
      api.clock.set('2026-10-26T23:00:05Z')
      const { range, days } = (await read()).json
      assert.deepEqual([range.from, range.to], ['2026-09-28', '2026-10-27'])
      assert.equal(days.at(-1).date, '2026-10-27')
    })
  })

  it('reads the record of a company again after a minute', async () => {
    const { vendorId, read } = await company()
    const currency = async () => (await read()).json.currency
    assert.equal(await currency(), 'EUR')
    await api.db('companies').where({ vendor_id: vendorId }).update({ currency: 'USD' })
    api.clock.advance(59_999)
    assert.equal(await currency(), 'EUR')
    api.clock.advance(1)
    assert.equal(await currency(), 'USD')
  })

  describe('the entity tag', () => {
    before(() => api.clock.set('2026-11-20T17:30:00Z'))

    it('gives a strong ETag that stays while the answer does', async () => {
      const { read, store } = await company()
      await store('2026-11-19')
      const first = await read()
      assert.match(first.headers.get('etag') ?? '', /^"[\w-]{27}"$/)
      const again = await read()
      assert.deepEqual([again.headers.get('etag'), again.text], [first.headers.get('etag'), first.text])
      await store('2026-11-19', { impressions: 11 })
      const changed = await read()
      assert.notEqual(changed.headers.get('etag'), first.headers.get('etag'))
      assert.equal(changed.json.days[28].impressions, 11)
    })

    it('changes the ETag when a day becomes final', async () => {
      const { read, store } = await company()
      await store('2026-11-20')
      const before = await read('?from=2026-11-20&to=2026-11-20')
      api.clock.set('2026-11-23T23:00:00Z')
      const after = await read('?from=2026-11-20&to=2026-11-20')
      assert.deepEqual([...statuses(before), ...statuses(after)], ['provisional', 'final'])
      assert.notEqual(before.headers.get('etag'), after.headers.get('etag'))
      api.clock.set('2026-11-20T17:30:00Z')
    })
  })

  it('answers HEAD with the same header fields and no body', async () => {
    const { read } = await company()
    const [get, head] = [await read(), await read('', {}, 'HEAD')]
    assert.deepEqual([head.status, head.text], [200, ''])
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control'])
      assert.equal(head.headers.get(name), get.headers.get(name), name)
  })

  it('answers a session at another process exactly what a token is answered', async () => {
    const { vendorId, read, store } = await company()
    await store('2026-01-30')
    await using second = await startApi({ beside: api })
    const owner = await api.createPerson({ vendorId })
    const { status, text, headers } = await read('?to=2026-01-31')
    const bySession = await owner.request('GET', 'analytics/daily?to=2026-01-31', { at: second })
    const tag = bySession.headers.get('etag') as string
    assert.deepEqual([bySession.status, bySession.text, tag], [status, text, headers.get('etag')])
    const again = { headers: { 'if-none-match': tag } }
    assert.equal((await owner.request('GET', 'analytics/daily?to=2026-01-31', again)).status, 304)
    assertInvalid(await owner.request('GET', 'analytics/daily?from=x'), '?from')
  })
})
