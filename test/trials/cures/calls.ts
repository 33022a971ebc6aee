import { type createTestClient, tokenFields } from '../../support/auth.ts'
import type { Instance } from './instance.ts'

const ANSWER_MS = 8_000

type Client = Awaited<ReturnType<typeof createTestClient>>

async function send(url: string, init: RequestInit) {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), ...init })
  const text = await response.text()
  return { status: response.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined }
}

/** What clients do, each at the instance with this number. */
export function createCalls({ auth, api }: Record<'auth' | 'api', Instance[]>) {
  const token = (i: number, client: Client, clientAddress = '192.0.2.1') =>
    send(`${auth[i]?.url}/v1/oauth/token`, {
      method: 'POST',
      headers: { 'X-Forwarded-For': clientAddress },
      body: new URLSearchParams(tokenFields(client)),
    })
  const buildUrl = (i: number, { vendorId }: Client) => `${api[i]?.url}/v1/analytics/${vendorId}`
  return {
    token,
    tokenOf: async (client: Client): Promise<string> => (await token(0, client)).json.access_token,
    read: (i: number, client: Client, bearer: string) =>
      send(`${buildUrl(i, client)}/daily`, { headers: { Authorization: `Bearer ${bearer}` } }),
    /** Reports so many clicks of now. */
    report: (i: number, client: Client, bearer: string, count = 1) =>
      send(`${buildUrl(i, client)}/events`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ events: Array.from({ length: count }, newClick) }),
      }),
  }
}

const newClick = () => ({ eventId: crypto.randomUUID(), type: 'click', occurredAt: new Date().toISOString() })
