import { strict as assert } from 'node:assert'
import type { OAuthClient } from '../../apps/workspace/src/api/contract.ts'
import { BROWSER_CLOCK, createClock } from '../../apps/workspace/src/api/time.ts'
import { nextName } from '../../apps/workspace/src/clients/client-name.ts'
import {
  dayAhead,
  endOfDay,
  expiresSoon,
  hasExpired,
  lastDayOfReplacement,
  NEVER,
} from '../../apps/workspace/src/clients/expiry.ts'
import {
  CLIENT_FILTER,
  type ClientFilter,
  mostExpire,
  searchClients,
} from '../../apps/workspace/src/clients/find-clients.ts'

const DAY_MS = 86_400_000
const NOW = new Date('2026-11-22T12:00:00Z')
const from = (ms: number) => new Date(NOW.getTime() + ms).toISOString()

describe('workspace: when clients expire', () => {
  it('takes a client for expired from the very moment on', () => {
    assert.equal(hasExpired({ expiresAt: null }, NOW), false)
    assert.equal(hasExpired({ expiresAt: from(1) }, NOW), false)
    assert.equal(hasExpired({ expiresAt: from(0) }, NOW), true)
  })

  it('marks clients that expire within 30 days, or already have', () => {
    assert.equal(expiresSoon({ expiresAt: null }, NOW), false)
    assert.equal(expiresSoon({ expiresAt: from(30 * DAY_MS + 1) }, NOW), false)
    assert.equal(expiresSoon({ expiresAt: from(30 * DAY_MS) }, NOW), true)
    assert.equal(expiresSoon({ expiresAt: from(-DAY_MS) }, NOW), true)
  })

  it('lets a client work until the end of the last day where the company is', async () => {
    for (const [zone, date, end] of [
      ['Pacific/Auckland', '2027-01-31', '2027-01-31T10:59:59.000Z'],
      ['America/New_York', '2027-01-31', '2027-02-01T04:59:59.000Z'],
      // Days of 23 and of 25 hours.
      ['Europe/Berlin', '2027-03-28', '2027-03-28T21:59:59.000Z'],
      ['Europe/Berlin', '2027-10-31', '2027-10-31T22:59:59.000Z'],
    ] as const) {
      assert.equal(await endOfDay(date, zone), end)
    }
  })

  it('offers no day that ends within 24 hours, whatever the hour', async () => {
    for (const hour of [0, 12, 23]) {
      const now = new Date(2026, 10, 22, hour, 59)
      const date = dayAhead(BROWSER_CLOCK, now)
      const end_ms = Date.parse(await endOfDay(date, BROWSER_CLOCK.zone)) - now.getTime()
      assert.ok(end_ms >= DAY_MS && end_ms < 2 * DAY_MS, date)
    }
  })

  it('offers a replacement as many days as what it replaces', () => {
    const clock = createClock('UTC')
    const lastDay = (created: string, expires: string | null) =>
      lastDayOfReplacement({ createdAt: created, expiresAt: expires }, clock, NOW)
    assert.equal(lastDay(from(0), null), NEVER)
    assert.equal(lastDay(from(0), from(90 * DAY_MS - 40_000)), '2027-02-20')
    assert.equal(lastDay('2026-01-01T23:00:00Z', '2026-01-31T23:59:59Z'), '2026-12-22')
    assert.equal(lastDay(from(0), from(DAY_MS / 3)), '2026-11-23')
  })

  it('names a replacement by the next number, within the length of a name', () => {
    assert.deepEqual(['Feed', 'Feed 9'].map(nextName), ['Feed 2', 'Feed 10'])
    assert.equal(nextName('😀'.repeat(100)), `${'😀'.repeat(98)} 2`)
  })

  it('lists clients by expiry, and those that expire within 30 days, not those that have', () => {
    const client = (name: string, days: number | null) => {
      const expiresAt = days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString()
      return { name, clientId: name, status: 'Active', createdAt: from(0), expiresAt } as OAuthClient
    }
    const all = [client('never', null), client('later', 300), client('soon', 12), client('expired', -1)]
    const names = (part: Partial<ClientFilter>) => {
      const { clients } = searchClients(all, { ...CLIENT_FILTER.defaults, sort: 'expires', ...part })
      return clients.map(({ name }) => name)
    }
    assert.deepEqual(names({}), ['expired', 'soon', 'later', 'never'])
    assert.deepEqual(names({ sort: '-expires' }), ['never', 'later', 'soon', 'expired'])
    assert.deepEqual(names({ show: 'expiring' }), ['soon'])
    assert.equal(mostExpire(all), true)
    assert.equal(mostExpire([...all, client('a', null), client('b', null)]), false)
  })
})
