import assert from 'node:assert/strict'
import { storedDays } from './analytics.ts'
import type { ApiResponse, TestApi } from './api.ts'

export type Sender = Awaited<ReturnType<typeof createSender>>

/** A new company that reports events, by a client that may write and read them. */
export async function createSender(api: TestApi, company: { timezone?: string } = {}) {
  const { vendorId } = await api.createCompany(company)
  const { clientId } = await api.createClient({ vendorId, scopes: ['analytics:read', 'analytics:write'] })
  const token = (scope = 'analytics:write') => api.issuer.token({ clientId, vendorId, scope })
  const post = async (body: unknown, to = api) =>
    to.request('POST', `/v1/analytics/${vendorId}/events`, { token: await token(), body })
  return {
    vendorId,
    clientId,
    token,
    post,
    send: (...events: unknown[]) => post({ events }),
    async read(from = api, headers: Record<string, string> = {}) {
      const path = `/v1/analytics/${vendorId}/daily`
      return from.request('GET', path, { token: await token('analytics:read'), headers })
    },
    /** Asserts that the company has no event, no remembered id and no day. */
    async assertNothingStored(): Promise<void> {
      assert.deepEqual(await storedDays(api.db, vendorId), [])
      const { rows } = await api.db.raw(
        `select (select count(*) from analytics_events where vendor_id = :vendorId) +
                (select count(*) from analytics_event_ids where vendor_id = :vendorId) as n`,
        { vendorId },
      )
      assert.equal(Number(rows[0].n), 0)
    },
  }
}

export function createEvents(api: Pick<TestApi, 'clock'>) {
  let ids = 0
  /** The clock's time plus `offset_ms`, as in RFC 3339. */
  const at = (offset_ms = 0) => new Date(api.clock.now() + offset_ms).toISOString()
  /** A click that happens now, with an id of its own. */
  const click = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
    eventId: `event-${++ids}`,
    type: 'click',
    occurredAt: at(),
    ...changes,
  })
  /** An order of 19.99 EUR that happens now, with an id of its own. */
  const order = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
    ...click(),
    type: 'order',
    amountMinor: 1_999,
    currency: 'EUR',
    ...changes,
  })
  return { at, click, order }
}

export function assertStored(response: ApiResponse, accepted: number, duplicates = 0): void {
  assert.equal(response.status, 200, response.text)
  assert.deepEqual(response.json, { accepted, duplicates })
}
