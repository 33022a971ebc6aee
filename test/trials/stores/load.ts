import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestClient } from '../../support/auth.ts'
import type { Installation } from './installation.ts'

const CALLERS = 4
const PAUSE_MS = 20

export interface Load {
  answers: Map<string, number>
  slowest_ms: number
  stop(): Promise<void>
}

/** Tokens, reads and reported events, again and again; each answer is counted by what was asked and its status. */
export function startLoad(services: Installation, clients: TestClient[]): Load {
  const answers = new Map<string, number>()
  const unused = [...clients]
  let running = true
  let slowest_ms = 0
  async function ask(what: string, request: () => Promise<number | string>): Promise<void> {
    const begun_ms = performance.now()
    const answer = `${what} ${await request().catch((error: Error) => error.message)}`
    slowest_ms = Math.max(slowest_ms, performance.now() - begun_ms)
    answers.set(answer, (answers.get(answer) ?? 0) + 1)
  }
  async function call(): Promise<void> {
    for (let client = unused.pop(); running && client; client = unused.pop()) {
      const one = client
      let accessToken = ''
      await ask('token', async () => {
        const token = await services.token(one)
        accessToken = token.accessToken
        return token.status
      })
      if (accessToken === '') continue
      await ask('read', async () => (await services.daily(one, accessToken)).status)
      await ask('ingest', async () => {
        const event = { eventId: randomUUID(), type: 'click', occurredAt: new Date().toISOString() }
        const url = `${services.apiUrl}/v1/analytics/${one.vendorId}/events`
        const response = await fetch(url, {
          method: 'POST',
          headers: { Authorization: `Bearer ${accessToken}`, 'Content-Type': 'application/json' },
          body: JSON.stringify({ events: [event] }),
        })
        await response.text()
        return response.status
      })
      await sleep(PAUSE_MS)
    }
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, call))
  return {
    answers,
    get slowest_ms() {
      return slowest_ms
    },
    async stop() {
      running = false
      await callers
    },
  }
}
